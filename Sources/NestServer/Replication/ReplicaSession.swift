import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestEngine
import NestModel
import NestProtocol
import NestStore

/// A node of a cluster while its store is open: the driver, and what connections ask about the cluster.
final class ReplicaSession: Sendable {
    let node: ReplicaNode
    let log: any ClusterLog
    /// The head of the log when the store was opened.
    private let head: Int64
    private let parts = NIOLockedValueBox<Parts?>(nil)
    private let hasEnded = NIOLockedValueBox(false)
    private let isStopping = NIOLockedValueBox(false)

    private struct Parts {
        let driver: ReplicaDriver
        let link: PeerLink
        let verifier: ReplicaVerifier
        let questions: ClusterQuestions
    }

    var status: ReplicaStatus { self.node.status }

    init(_ node: ReplicaNode, _ log: any ClusterLog, head: Int64) {
        self.node = node
        self.log = log
        self.head = head
    }

    /// Begins to follow the log. Returns when the store has what the log had when it was opened, or when that takes so
    /// long that clients should see an older state meanwhile. `link`: where the link to the leader runs, and the
    /// threads that read its files. `bytesLeftMin`: the bytes that stay free on its disk.
    func start(
        _ engine: EngineThread,
        _ opened: EngineThread.Opened,
        link place: (eventLoop: any EventLoop, files: NIOThreadPool),
        bytesLeftMin: Int,
        connectionCount: @escaping @Sendable () -> Int,
        sendOn: @escaping ReplicaNode.SendOn,
        onEnd: @escaping @Sendable (ReplicaDriver.Ending) -> Void
    ) async {
        guard let state = opened.log else { preconditionFailure("a node's store has a position in the log") }
        let reader = opened.reader
        let journal = self.node.journal
        let link = PeerLink(
            PeerLink.Environment(
                node: self.log.node,
                historyID: opened.historyID,
                modelHash: opened.model.hash,
                tls: self.node.tls,
                sendsSecretInClear: self.node.sendsSecretInClear,
                files: place.files,
                journal: journal,
                submit: { inputs in engine.submit(inputs.lazy.map { .log($0) }) },
                note: { [parts] state in parts.withLockedValue { $0 }?.driver.note(state) }
            ),
            at: state.position,
            on: place.eventLoop
        )
        let driver = ReplicaDriver(
            self.log,
            engine: engine,
            status: self.status,
            journal: journal,
            snapshots: SnapshotTaker(self.log, reader, journal, bytesLeftMin: bytesLeftMin),
            spoolDirectory: reader.spoolDirectory,
            // When the node stops, the link stays until the clients have their replies.
            onLeader: { [isStopping] leader in if !isStopping.withLockedValue({ $0 }) { link.follow(leader) } },
            onEnd: { [hasEnded] ending in
                hasEnded.withLockedValue { $0 = true }
                onEnd(ending)
            }
        )
        let parts = Parts(
            driver: driver,
            link: link,
            verifier: ReplicaVerifier(self.log, reader, journal),
            questions: ClusterQuestions(
                self.log,
                self.status,
                engine,
                driver,
                connectionCount: connectionCount,
                sendOn: sendOn
            )
        )
        self.parts.withLockedValue { $0 = parts }
        self.status.withState { status in
            status.role = .follower
            status.position = state.position.position
            status.place = state.position
            status.head = self.head
            status.caughtUpAt = .now()
        }
        journal.opened(at: state, node: self.log.node)
        self.node.use(engine, sendOn)
        parts.questions.start()
        parts.verifier.start()
        driver.start(at: state)
        let deadline = NIODeadline.now() + .seconds(Int64(Limits.nodeLagSecondsMax))
        while self.isCatchingUp, NIODeadline.now() < deadline { try? await Task.sleep(for: .milliseconds(5)) }
    }

    private var isCatchingUp: Bool {
        guard !self.node.isStopping, !self.hasEnded.withLockedValue({ $0 }) else { return false }
        return self.status.withState { $0.position < self.head }
    }

    /// Called on the engine's thread, while the engine's effects are delivered.
    func take(_ effects: [EngineEffect]) {
        guard let parts = self.parts.withLockedValue({ $0 }) else { return }
        var forwards: [ForwardEffect] = []
        for effect in effects {
            switch effect {
            case .replica(let event): self.take(event, parts)
            case .forward(let forward): forwards.append(forward)
            default: break
            }
        }
        if !forwards.isEmpty { parts.link.send(forwards) }
    }

    private func take(_ event: ReplicaEvent, _ parts: Parts) {
        switch event {
        case .marked(let position): parts.verifier.begin(at: position)
        case .markAnswered(let number, let answer): parts.questions.answer(number, answer)
        case .headWanted(let number): parts.questions.askHead(number)
        default:
            parts.link.take(event)
            parts.driver.take(event)
        }
    }

    /// Gives up the lead, if this node has it, so that another node takes over while this one finishes.
    func stop() async {
        guard let parts = self.parts.withLockedValue({ $0 }) else { return }
        self.isStopping.withLockedValue { $0 = true }
        await parts.driver.stop()
        await parts.verifier.stop()
        await parts.questions.stop()
        self.node.use(nil, nil)
        self.status.withState { state in
            state.role = nil
            state.leader = nil
        }
    }

    /// Ends the link to the leader, when no client waits for a reply any more.
    func stopLink() async { await self.parts.withLockedValue { $0 }?.link.stop() }

    // MARK: Questions

    /// What connections ask about the cluster.
    var answers: ClusterAnswers {
        ClusterAnswers(
            status: { mark, reply in self.questions { $0.status(mark: mark, reply) } },
            verify: { reply in self.questions { $0.verify(reply) } },
            moveLead: { node, reply in self.questions { $0.moveLead(to: node, reply) } },
            drain: { drains, by, reply in self.questions { $0.drain(drains, by: by, reply) } }
        )
    }

    private func questions(_ ask: (ClusterQuestions) -> Void) {
        guard let parts = self.parts.withLockedValue({ $0 }) else {
            preconditionFailure("connections exist only after the session has started")
        }
        ask(parts.questions)
    }
}
