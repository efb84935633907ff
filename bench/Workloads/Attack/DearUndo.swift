import NIOCore
import NestClient
import NestModel
import NestProtocol
import NestFraming

/// Repeatedly previews, undoes and redoes an entry of many objects.
struct DearUndo: Attacker {
    private let site: AttackSite
    private let session: Identifier128

    init(_ sizes: AttackSizes, on server: AttackServer) async throws {
        var generator = SystemRandomNumberGenerator()
        self.session = .random(using: &generator)
        try await server.withClient(session: self.session) { client in
            _ = try await client.importSubtree(Load.importUnderRoot, nextRows: Load.rows(sizes.objects))
        }
        self.site = server.site
    }

    func attack(until deadline: ContinuousClock.Instant) async throws -> AttackCounts {
        var counts = AttackCounts()
        guard let connection = await self.site.connect(session: self.session) else { return counts }
        var id: UInt32 = 0
        func ask(_ message: some Message) async {
            id += 1
            counts.add(await connection.ask(message.frame(id: id), id: id, within: self.site.patience).outcome)
        }
        repeat {
            await ask(PreviewUndo(.undo))
            await ask(Undo(key: nil))
            if counts.ended + counts.late == 0 { await ask(Redo(key: nil)) }
        } while !deadline.isOver && counts.ended + counts.late == 0
        await connection.close()
        return counts
    }
}
