import Logging
import NIOConcurrencyHelpers
import NIOCore
import NestModel
import NestProtocol
import NestStore
import Testing

@testable import NestServer

/// When a node is ready, and when it sends its clients to others.
@Suite struct ReplicaNodeTests {
    private struct Seen {
        var reasons: [String?] = []
        var sentOn = 0
    }

    private let seen = NIOLockedValueBox(Seen())

    private func node() -> ReplicaNode {
        let seen = self.seen
        let node = ReplicaNode(
            ReplicaConfiguration(
                storeName: "default",
                onWaiting: { reason in seen.withLockedValue { $0.reasons.append(reason) } },
                connect: { () throws(LogFailure) in throw .unavailable("no log in this test") }
            ),
            Store.Configuration(location: .memory, model: .nestedList),
            Logger(label: "tests")
        )
        node.use(nil) { _, _ in seen.withLockedValue { $0.sentOn += 1 } }
        return node
    }

    private func lag(_ node: ReplicaNode, seconds: Int64) {
        node.status.withState { $0.caughtUpAt = .now() - .seconds(seconds) }
        node.tick()
    }

    private var sentOn: Int { self.seen.withLockedValue { $0.sentOn } }
    private var reason: String? { self.seen.withLockedValue { $0.reasons.last ?? nil } }

    @Test func aNodeThatLagsSendsItsClientsOnOnce() async {
        let node = self.node()
        let late = Int64(Limits.nodeLagSecondsMax) + 3
        self.lag(node, seconds: late)
        #expect(self.sentOn == 0 && self.reason?.contains("behind the log") == true, "there is no other node")
        node.status.withState { $0.hasOthers = true }
        for _ in 0..<3 { self.lag(node, seconds: late) }
        #expect(self.sentOn == 1)
        self.lag(node, seconds: 0)
        #expect(self.reason == nil)
        self.lag(node, seconds: late)
        #expect(self.sentOn == 2)
        await node.leave()
    }

    @Test func aDrainedNodeIsNotReady() async {
        let node = self.node()
        node.status.withState { $0.isDrained = true }
        self.lag(node, seconds: 0)
        #expect(self.reason?.contains("drained") == true)
        node.status.withState { $0.isDrained = false }
        node.tick()
        #expect(self.reason == nil && self.sentOn == 0)
        await node.leave()
    }
}
