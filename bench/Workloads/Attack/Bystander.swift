import Histogram
import NIOConcurrencyHelpers
import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// A client that repeats a small request and records how long it waits for each reply.
///
/// A wait ends with a successful reply. After a refusal or a lost connection the client repeats the request and the
/// same wait continues. A long wait also counts for the requests that other clients would have sent meanwhile, one
/// every `pauseMilliseconds` (`recordCorrectedValue`). So the percentiles are those of clients that connect at any
/// time.
final class Bystander: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        /// A transaction that inserts one row.
        case commit
        case ping
        /// GET_OBJECT of the root.
        case get
        /// A new connection, until WELCOME arrives.
        case connect
    }

    static let pauseMilliseconds = 10

    private struct State {
        var waits = Waits()
        /// The start of the current wait; `nil` during a pause.
        var askedAt: ContinuousClock.Instant?
        /// The number of waits that have ended.
        var answers = 0
        var isOver = false

        mutating func take(_ reply: AttackConnection.Reply) {
            switch reply.outcome {
            case .answered:
                guard let askedAt = self.askedAt else { return }
                self.waits.add(reply.at - askedAt)
                self.askedAt = nil
                self.answers += 1
            case .refused: self.waits.refused += 1
            case .ended, .late: self.waits.lost += 1
            }
        }
    }

    let kind: Kind
    private let site: AttackSite
    private let state = NIOLockedValueBox(State())

    init(_ kind: Kind, at site: AttackSite) {
        self.kind = kind
        self.site = site
    }

    /// Repeats the request until `stop`.
    func work() async {
        var connection: AttackConnection?
        var id: UInt32 = 0
        while !self.isOver {
            if self.state.withLockedValue({ $0.askedAt }) == nil { self.state.withLockedValue { $0.askedAt = .now } }
            let reply: AttackConnection.Reply
            if self.kind == .connect {
                reply = await self.shakeHands()
            } else {
                if connection == nil { connection = await self.site.connect() }
                id += 1
                let question = self.question(id)
                reply =
                    await connection?.ask(question.bytes, id: question.id, within: self.site.patience)
                    ?? AttackConnection.Reply(outcome: .ended, at: .now)
            }
            self.state.withLockedValue { $0.take(reply) }
            if case .ended = reply.outcome {
                await connection?.close()
                connection = nil
            }
            try? await Task.sleep(for: .milliseconds(Self.pauseMilliseconds))
        }
        await connection?.close()
    }

    private func question(_ id: UInt32) -> (bytes: ByteBuffer, id: UInt32) {
        switch self.kind {
        case .commit: (Load.insertFrame(under: ObjectID(1), id: id), id)
        case .get: (GetObject(id: ObjectID(1)).frame(id: id), id)
        case .ping, .connect: (Ping(payload: UInt64(id)).frame(id: 0), 0)
        }
    }

    private func shakeHands() async -> AttackConnection.Reply {
        guard let connection = await AttackConnection.connect(port: self.site.port, on: self.site.loop) else {
            return AttackConnection.Reply(outcome: .ended, at: .now)
        }
        let reply = await connection.greet(token: self.site.token, within: self.site.patience)
        await connection.close()
        return reply
    }

    // MARK: From other tasks

    private var isOver: Bool { self.state.withLockedValue { $0.isOver } }

    func stop() { self.state.withLockedValue { $0.isOver = true } }

    var answers: Int { self.state.withLockedValue { $0.answers } }

    /// Returns the waits since the last call, including the current one.
    func take() -> Waits {
        self.state.withLockedValue { state in
            defer { state.waits = Waits() }
            if let askedAt = state.askedAt { state.waits.addUnfinished(ContinuousClock.now - askedAt) }
            return state.waits
        }
    }
}

/// The waits of bystanders of one kind.
struct Waits {
    /// Microseconds.
    private(set) var histogram = Histogram<UInt64>(highestTrackableValue: 3_600_000_000)
    /// The number of refusals before replies.
    var refused = 0
    /// The number of connections that ended or did not reply in time.
    var lost = 0
    private static let pause = UInt64(Bystander.pauseMilliseconds * 1_000)

    mutating func add(_ wait: Duration) {
        _ = self.histogram.recordCorrectedValue(max(wait.microseconds, 1), expectedInterval: Self.pause)
    }

    /// Adds the current wait if it is longer than a second.
    mutating func addUnfinished(_ wait: Duration) {
        if wait > .seconds(1) { self.add(wait) }
    }

    mutating func add(_ other: Waits) {
        self.histogram.add(other.histogram)
        self.refused += other.refused
        self.lost += other.lost
    }
}
