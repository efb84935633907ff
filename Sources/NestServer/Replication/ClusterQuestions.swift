import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestEngine
import NestModel
import NestProtocol
import NestStore

/// Answers clients' questions about the cluster, on a thread of its own: the log may take its time.
final class ClusterQuestions: Sendable {
    private struct State {
        /// The marks that were asked for, and have no answer yet.
        var marks: [UInt64: ClusterAnswers.Reply<Int64>] = [:]
        var nextMark: UInt64 = 1
        var isStopped = false
        /// Why the log did not answer the last question.
        var fault: (text: String, until: NIODeadline)?
    }

    let log: any ClusterLog
    let status: ReplicaStatus
    private let engine: EngineThread
    let driver: ReplicaDriver
    private let connectionCount: @Sendable () -> Int
    let sendOn: ReplicaNode.SendOn
    let thread = NIOThreadPool(numberOfThreads: 1)
    private let state = NIOLockedValueBox(State())
    /// For this long a log that did not answer is not asked again.
    private static let faultTime = TimeAmount.seconds(1)

    init(
        _ log: any ClusterLog,
        _ status: ReplicaStatus,
        _ engine: EngineThread,
        _ driver: ReplicaDriver,
        connectionCount: @escaping @Sendable () -> Int,
        sendOn: @escaping ReplicaNode.SendOn
    ) {
        self.log = log
        self.status = status
        self.engine = engine
        self.driver = driver
        self.connectionCount = connectionCount
        self.sendOn = sendOn
    }

    func start() { self.thread.start() }

    func stop() async {
        let marks = self.state.withLockedValue { state in
            defer { state.marks = [:] }
            state.isStopped = true
            return state.marks.values
        }
        for reply in marks { reply(.failure(Self.stopping)) }
        try? await self.thread.shutdownGracefully()
    }

    static let stopping = NestError(.shuttingDown, "the server is stopping: connect again")

    // MARK: The state of the cluster

    /// `mark`: the position of a mark whose verifications are wanted; 0: none.
    func status(mark: Int64, _ reply: @escaping ClusterAnswers.Reply<ClusterStatus>) {
        self.thread.submit { state in
            guard case .active = state else { return reply(.failure(Self.stopping)) }
            reply(.success(self.status(mark: mark)))
        }
    }

    /// Without the log, a node still says what it knows itself.
    private func known() -> ClusterStatus {
        let state = self.status.withState { $0 }
        let lag = self.status.lagSeconds(at: .now())
        var status = ClusterStatus(
            store: self.status.store,
            node: self.log.node.name,
            role: state.role ?? .follower,
            epoch: state.epoch,
            position: state.position,
            head: max(state.head, state.position),
            lag: state.role == .leader ? nil : Int64(lag * 1_000_000),
            base: state.base
        )
        status.isDrained = state.isDrained
        return status
    }

    private func status(mark: Int64) -> ClusterStatus {
        var answer = self.known()
        if let fault = self.fault {
            answer.logFault = fault
            return answer
        }
        do throws(LogFailure) {
            let overview = try self.log.overview(position: answer.position)
            answer.head = max(overview.head.position, answer.position)
            answer.base = overview.base
            answer.log = try self.log.summary()
            let leader = overview.leader.flatMap { $0.isAlive ? $0.id : nil }
            answer.nodes = try self.log.nodes().map { node in
                let isThis = node.id == self.log.node.id
                return ClusterStatus.Node(
                    id: node.id,
                    name: node.name,
                    address: node.address,
                    version: node.version,
                    role: node.isAlive ? (node.id == leader ? .leader : .follower) : nil,
                    position: isThis ? answer.position : node.position,
                    clients: isThis ? self.connectionCount() : nil,
                    isDrained: isThis ? answer.isDrained : node.isDrained
                )
            }
            answer.snapshot = try self.log.snapshots().first.map {
                .init(position: $0.position.position, made: $0.made, byteCount: $0.byteCount)
            }
            if mark > 0 {
                answer.verifications = try self.log.verifications(at: mark).map {
                    .init(node: $0.node, digest: $0.digest)
                }
            }
        } catch {
            self.note(error)
            answer = self.known()
            answer.logFault = "\(error)"
        }
        return answer
    }

    /// Why the log did not answer lately.
    private var fault: String? {
        self.state.withLockedValue { state in state.fault.flatMap { NIODeadline.now() < $0.until ? $0.text : nil } }
    }

    private func note(_ failure: LogFailure) {
        self.state.withLockedValue { $0.fault = ("\(failure)", .now() + Self.faultTime) }
    }

    // MARK: The newest state

    /// Asks the log for its newest position, and passes it to the engine. Called on the engine's thread.
    func askHead(_ number: UInt64) {
        self.thread.submit { state in
            guard case .active = state else { return }
            self.engine.submit(CollectionOfOne(.log(.head(number: number, self.newestPosition()))))
        }
    }

    private func newestPosition() -> Result<Int64, NestError> {
        if let fault { return .failure(NestError(.logUnavailable, "\(fault): try again later")) }
        do throws(LogFailure) {
            return .success(try self.log.overview(position: 0).head.position)
        } catch {
            self.note(error)
            return .failure(NestError(.logUnavailable, "\(error): try again later"))
        }
    }

    // MARK: Marks

    /// Asks the engine to append a mark. Replies with its position.
    func verify(_ reply: @escaping ClusterAnswers.Reply<Int64>) {
        let number = self.state.withLockedValue { state -> UInt64? in
            guard !state.isStopped else { return nil }
            defer { state.nextMark += 1 }
            state.marks[state.nextMark] = reply
            return state.nextMark
        }
        guard let number else { return reply(.failure(Self.stopping)) }
        self.engine.submit(CollectionOfOne(.log(.mark(requestedBy: number))))
    }

    /// Called on the engine's thread.
    func answer(_ number: UInt64, _ answer: Result<LogPosition, NestError>) {
        let reply = self.state.withLockedValue { $0.marks.removeValue(forKey: number) }
        reply?(answer.map(\.position))
    }
}
