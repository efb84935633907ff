import NIOConcurrencyHelpers
import NIOCore
import NestServer
import Testing

struct ServerOutputTests {
    private static func bytes(_ count: Int) -> ByteBuffer { ByteBuffer(repeating: 0, count: count) }

    @Test func theEngineIsToldOnceThatAConnectionBlocksAndOnceThatItDrains() {
        var queue = OutputQueue()
        #expect(queue.settle(isWritable: true) == .none)
        queue.append(Self.bytes(3))
        #expect(queue.settle(isWritable: false) == .blocked)
        queue.append(Self.bytes(3))
        #expect(queue.settle(isWritable: false) == .none)
        _ = queue.popFirst()
        _ = queue.popFirst()
        #expect(queue.settle(isWritable: false) == .none)
        #expect(queue.settle(isWritable: true) == .drained)
        #expect(queue.settle(isWritable: true) == .none)
    }

    /// The engine asks when it has more to send: it is told once everything before is handed over, blocked or not.
    @Test func theEngineIsToldThatAllIsHandedOverWhenItAsks() {
        var queue = OutputQueue()
        queue.askForDrain()
        #expect(queue.settle(isWritable: false) == .none)
        #expect(queue.settle(isWritable: true) == .drained)
        #expect(queue.settle(isWritable: true) == .none)
        queue.append(Self.bytes(3))
        queue.askForDrain()
        #expect(queue.settle(isWritable: false) == .blocked)
        _ = queue.popFirst()
        #expect(queue.settle(isWritable: true) == .drained)
        #expect(queue.settle(isWritable: true) == .none)
    }

    @Test func oneDeliveryMayBeLargeWhatComesOnTopIsCounted() {
        var queue = OutputQueue()
        #expect(queue.mayBeginDelivery(max: 10) == true)
        queue.append(Self.bytes(100))
        queue.append(Self.bytes(100))
        #expect(queue.mayBeginDelivery(max: 10) == true)
        queue.append(Self.bytes(11))
        #expect(queue.mayBeginDelivery(max: 10) == false)
        while queue.popFirst() != nil {}
        #expect(queue.byteCount == 0)
        #expect(queue.mayBeginDelivery(max: 10) == true)
    }

    @Test func silenceIsAskedAboutThenEnds() {
        let start = NIODeadline.uptimeNanoseconds(1_000)
        let (interval, timeout) = (TimeAmount.nanoseconds(20), TimeAmount.nanoseconds(10))
        var liveness = Liveness(now: start)
        func check(_ after: Int64) -> Liveness.Action {
            liveness.check(now: start + .nanoseconds(after), interval: interval, timeout: timeout)
        }
        #expect(check(19) == .none)
        #expect(check(20) == .ping)
        #expect(check(29) == .none)
        liveness.heard(now: start + .nanoseconds(29))
        #expect(check(48) == .none)
        #expect(check(49) == .ping)
        #expect(check(58) == .none)
        #expect(check(59) == .silent)
    }

    @Test func outputStallsWhenNothingGoesOutForTheLimit() {
        let start = NIODeadline.uptimeNanoseconds(1_000)
        var liveness = Liveness(now: start)
        func isStalled(_ after: Int64, _ bytesWritten: Int, isWaiting: Bool = true) -> Bool {
            liveness.isStalled(
                now: start + .nanoseconds(after),
                isWaiting: isWaiting,
                bytesWritten: bytesWritten,
                limit: .nanoseconds(60)
            )
        }
        #expect(!isStalled(50, 1))
        #expect(!isStalled(109, 1))
        #expect(isStalled(110, 1))
        #expect(!isStalled(111, 2))
        #expect(!isStalled(170, 2))
        #expect(!isStalled(171, 2, isWaiting: false))
        #expect(!isStalled(230, 2))
        #expect(isStalled(231, 2))
    }

    @Test func theGateServesThenRefusesThenWaits() {
        let gate = ConnectionGate(max: 1, refusedMax: 1)
        #expect(gate.enter())
        #expect(gate.mayAccept {})
        #expect(!gate.enter())
        let resumed = ResumeCount()
        #expect(!gate.mayAccept { resumed.add() })
        gate.leave(isServed: true)
        #expect(resumed.value == 0)
        gate.leave(isServed: false)
        #expect(resumed.value == 1)
        #expect(gate.count == 0)
        #expect(gate.enter())
    }

    @Test func onlyAddressesOfThisMachineAreLoopback() {
        for host in ["127.0.0.1", "127.9.8.7", "::1", "localhost", "0:0:0:0:0:0:0:1"] {
            #expect(Loopback.contains(host), "\(host)")
        }
        for host in ["0.0.0.0", "::", "192.168.1.1", "example.org", "127.0.0.1.example.org", ""] {
            #expect(!Loopback.contains(host), "\(host)")
        }
    }
}

/// Counts calls that may come on any thread.
private final class ResumeCount: Sendable {
    private let count = NIOLockedValueBox(0)

    var value: Int { self.count.withLockedValue { $0 } }

    func add() {
        self.count.withLockedValue { $0 += 1 }
    }
}
