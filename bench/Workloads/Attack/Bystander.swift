import Histogram
import NIOConcurrencyHelpers
import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// A client that asks for something small again and again, and keeps how long it waited for it.
///
/// A wait ends when what was asked for is there: who is refused, or loses the connection, asks again, and waits on. While it waits others
/// like it would have asked, every `pauseMilliseconds`: they are counted as those who would have waited the rest (`recordCorrectedValue`), so
/// that the percentiles are those of clients that come at any time.
final class Bystander: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        /// A transaction that inserts one row.
        case commit
        case ping
        /// GET_OBJECT of the root.
        case get
        /// A new connection until WELCOME.
        case connect
    }

    static let pauseMilliseconds = 10

    private struct State {
        var waits = Waits()
        /// Since when it waits; `nil` while it pauses.
        var askedAt: ContinuousClock.Instant?
        /// Waits that have ended, since it began.
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

    /// Asks until `stop`.
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

    // MARK: From elsewhere

    private var isOver: Bool { self.state.withLockedValue { $0.isOver } }

    func stop() { self.state.withLockedValue { $0.isOver = true } }

    var answers: Int { self.state.withLockedValue { $0.answers } }

    /// The waits since the last time, with the one that is not over.
    func take() -> Waits {
        self.state.withLockedValue { state in
            defer { state.waits = Waits() }
            if let askedAt = state.askedAt { state.waits.addUnfinished(ContinuousClock.now - askedAt) }
            return state.waits
        }
    }
}

/// How long bystanders of one kind waited.
struct Waits {
    /// Microseconds.
    private(set) var histogram = Histogram<UInt64>(highestTrackableValue: 3_600_000_000)
    /// Refusals on the way to an answer.
    var refused = 0
    /// Connections that ended or did not answer on the way.
    var lost = 0
    private static let pause = UInt64(Bystander.pauseMilliseconds * 1_000)

    mutating func add(_ wait: Duration) {
        _ = self.histogram.recordCorrectedValue(max(wait.microseconds, 1), expectedInterval: Self.pause)
    }

    /// One that goes on: it counts when it is longer than waits are.
    mutating func addUnfinished(_ wait: Duration) {
        if wait > .seconds(1) { self.add(wait) }
    }

    mutating func add(_ other: Waits) {
        self.histogram.add(other.histogram)
        self.refused += other.refused
        self.lost += other.lost
    }
}
