import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// A session with entries to undo: commits, and undos of the newest entry.
final class UndoSubject: ScalingSubject {
    static let series = [
        Series(id: "undo-commit", operation: "a row changed: one commit", quantity: "entries"),
        Series(id: "undo", operation: "the newest entry undone: one commit", quantity: "entries"),
    ]
    static let counts = (
        full: [10, 30, 100, 300, Limits.undoEntriesPerSessionMax], quick: [10, 100, Limits.undoEntriesPerSessionMax]
    )

    let server: ScalingServer
    private let row: ObjectID
    private var count = 0

    init(_ options: BenchOptions, most: Int) async throws {
        self.server = try await ScalingServer(options)
        self.row = try await self.server.makeItem()
    }

    func grow(to count: Int) async throws {
        let row = self.row
        _ = try await self.server.time(count - self.count) { Load.renameFrame(row, id: $0) }
        self.count = count
    }

    /// Alternates between ten commits and ten undos, so that the stack keeps its size.
    func sample(_ seconds: Double) async throws -> [Sample] {
        let row = self.row
        let start = ContinuousClock.now
        var samples = [Sample(), Sample()]
        repeat {
            samples[0].add(try await self.server.time(10) { Load.renameFrame(row, id: $0) })
            samples[1].add(try await self.server.time(10) { Undo(key: nil).frame(id: $0) })
        } while (ContinuousClock.now - start).seconds < 2 * seconds
        return samples
    }
}
