import NIOConcurrencyHelpers
import NIOCore
import NestProtocol
import NestModel
import NestServer
import Testing

struct ServerOutputTests {
    private static func bytes(_ count: Int) -> OutputQueue.Content { .bytes(ByteBuffer(repeating: 0, count: count)) }

    private static func frame(bodyBytes: Int) -> OutputQueue.Content {
        .frame(
            CompressibleFrame(
                type: .snapshotRows,
                flags: [],
                id: 1,
                body: SharedBytes([UInt8](repeating: 0, count: bodyBytes))
            )
        )
    }

    @Test func backpressureIsReportedOnceWhenItBeginsAndOnceWhenItEnds() {
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

    /// On the engine's request, the queue reports `drained` once when all earlier output is handed over, blocked or
    /// not.
    @Test func theEngineIsNotifiedOfHandedOverOutputOnRequest() {
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

    /// Compressing a million rows takes 200 ms. Turns keep other connections of the event loop from waiting that long.
    @Test func largeFramesAreWrittenOverSeveralTurns() {
        var queue = OutputQueue()
        for _ in 0..<5 { queue.append(Self.frame(bodyBytes: OutputQueue.turnBytesMax / 2)) }
        queue.append(Self.bytes(3))
        func taken() -> Int {
            queue.beginTurn()
            var count = 0
            while queue.popFirst() != nil { count += 1 }
            return count
        }
        #expect(taken() == 2)
        #expect(queue.isTurnOver)
        #expect(taken() == 2)
        #expect(queue.byteCount > OutputQueue.turnBytesMax / 2)
        #expect(taken() == 2)
        #expect(!queue.isTurnOver)
        #expect(queue.isEmpty && queue.byteCount == 0)
        for _ in 0..<5 { queue.append(Self.frame(bodyBytes: OutputQueue.turnBytesMax)) }
        #expect(queue.takeAll().count == 5)
        #expect(queue.isEmpty && queue.byteCount == 0)
    }

    @Test func outputBeyondOneDeliveryIsLimited() {
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

    @Test func aSilentConnectionIsPingedAndThenTimesOut() {
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

    @Test func theConnectionLimiterServesThenRefusesThenWaits() {
        let gate = ConnectionLimiter(max: 1, refusedMax: 1)
        gate.accepted()
        #expect(gate.enter(nil) == .served)
        #expect(gate.mayAccept {})
        gate.accepted()
        #expect(gate.enter(nil) == .full)
        let resumed = ResumeCount()
        #expect(!gate.mayAccept { resumed.add() })
        gate.leave(nil)
        #expect(resumed.value == 0)
        gate.closed()
        #expect(resumed.value == 1)
        gate.closed()
        #expect(resumed.value == 1)
        #expect(gate.count == 0)
        #expect(gate.enter(nil) == .served)
    }

    /// Each of several listeners is resumed when a connection closes, so that one cannot make another wait for ever.
    @Test func theConnectionLimiterResumesAllListeners() {
        let gate = ConnectionLimiter(max: 1, refusedMax: 0)
        gate.accepted()
        let resumed = [ResumeCount(), ResumeCount()]
        for count in resumed { #expect(!gate.mayAccept { count.add() }) }
        gate.closed()
        #expect(resumed.map(\.value) == [1, 1])
    }

    /// One address gets at most its share of the slots. An IPv6 network counts as one address.
    @Test func connectionsPerAddressAreLimited() throws {
        let gate = ConnectionLimiter(max: 20, perAddressMax: 3)
        let one = AddressKey(try SocketAddress(ipAddress: "192.0.2.1", port: 1))
        let mapped = AddressKey(try SocketAddress(ipAddress: "::ffff:192.0.2.1", port: 2))
        let other = AddressKey(try SocketAddress(ipAddress: "192.0.2.2", port: 1))
        #expect(one == mapped && one != other)
        for key in [one, mapped, one] { #expect(gate.enter(key) == .served) }
        #expect(gate.enter(one) == .addressFull)
        #expect(gate.enter(other) == .served)
        gate.leave(one)
        #expect(gate.enter(one) == .served)
        let net = try ["2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1"].map {
            AddressKey(try SocketAddress(ipAddress: $0, port: 1))
        }
        #expect(net[0] == net[1] && net[0] != net[2] && !net.contains(nil))
        // Loopback addresses are not limited: all local clients share them.
        for own in ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"] {
            #expect(AddressKey(try SocketAddress(ipAddress: own, port: 1)) == nil)
        }
        // By default one address leaves a tenth of the slots to others: two of twenty.
        let small = ConnectionLimiter(max: 20)
        for _ in 0..<18 { #expect(small.enter(one) == .served) }
        #expect(small.enter(one) == .addressFull)
        #expect(small.enter(other) == .served)
    }

    @Test func rejectedConnectionsArePaced() {
        let start = NIODeadline.uptimeNanoseconds(0)
        let gate = ConnectionLimiter(max: 20, now: start)
        for _ in 1..<Limits.rejectedBurstMax { gate.rejected(now: start) }
        #expect(!gate.mustPace(now: start))
        gate.rejected(now: start)
        #expect(gate.mustPace(now: start))
        let each = TimeAmount.nanoseconds(1_000_000_000 / Int64(Limits.rejectedPerSecondMax))
        #expect(gate.mustPace(now: start + each - .nanoseconds(1)))
        #expect(!gate.mustPace(now: start + each))
        gate.rejected(now: start + each)
        #expect(gate.mustPace(now: start + each))
    }

    @Test func descriptorsAreDividedForAnyLimit() {
        typealias Slots = Descriptors.Slots
        #expect(Descriptors.slots(wanted: 10_000, descriptors: 10_160) == Slots(served: 10_000, refused: 32))
        #expect(Descriptors.slots(wanted: 10_000, descriptors: 1_024) == Slots(served: 864, refused: 32))
        #expect(Descriptors.slots(wanted: 10_000, descriptors: 64) == Slots(served: 24, refused: 8))
        for count in 2..<300 {
            let slots = Descriptors.slots(wanted: 10_000, descriptors: count)
            #expect(
                slots.served >= 1 && slots.refused >= 1 && slots.served + slots.refused <= max(2, count / 2 + 64)
            )
        }
    }

    @Test func aTokenBucketAllowsItsBurstThenItsRate() {
        let start = NIODeadline.uptimeNanoseconds(0)
        var bucket = TokenBucket(TokenBucket.Rate(perSecond: 10, burst: 3), now: start)
        func takes(at milliseconds: Int64) -> Bool { bucket.take { start + .milliseconds(milliseconds) } }
        for _ in 0..<3 { #expect(takes(at: 0)) }
        #expect(!takes(at: 99))
        #expect(takes(at: 100))
        #expect(!takes(at: 199))
        #expect(takes(at: 350))
        #expect(takes(at: 350))
        #expect(!takes(at: 350))
        #expect(takes(at: 400))
        // After a long time only the burst is available.
        for _ in 0..<3 { #expect(takes(at: 1_000_000)) }
        #expect(!takes(at: 1_000_000))
    }

    @Test func controlFramesPerTurnAreLimited() {
        var turn = FrameTurn(max: 3)
        func take(_ count: Int) -> Bool {
            for _ in 0..<count { turn.take() }
            return turn.isOver
        }
        func mustPause() -> Bool { turn.mustPause() }
        #expect(!take(2))
        #expect(!mustPause())
        #expect(take(1))
        #expect(mustPause())
        // A turn pauses once, and the end of the read does not end the pause.
        #expect(!mustPause())
        turn.endRead()
        #expect(take(0))
        turn.begin()
        #expect(!take(2))
        turn.endRead()
        #expect(!take(2))
        #expect(take(2))
        #expect(mustPause())
    }

    /// The loop that finds the sum too large closes the largest connection, on any loop, and only once until that loop
    /// reports again.
    @Test func theLargestConnectionIsChosenUnderMemoryPressure() {
        let memory = ConnectionMemory(bytesMax: 100, loopCount: 2)
        let shed = [ResumeCount(), ResumeCount()]
        for (loop, count) in shed.enumerated() { memory.onShed(loop: loop) { count.add() } }
        memory.report(loop: 0, bytes: 50) {
            Issue.record("not called below half of the limit"); return 0
        }
        memory.report(loop: 0, bytes: 60) { 40 }
        memory.report(loop: 1, bytes: 40) { 30 }
        #expect(memory.byteCount == 100)
        #expect(shed.map(\.value) == [0, 0])
        memory.report(loop: 1, bytes: 41) { 31 }
        #expect(shed.map(\.value) == [1, 0])
        memory.report(loop: 1, bytes: 43) { 33 }
        #expect(shed.map(\.value) == [1, 0])
        memory.report(loop: 0, bytes: 60) { 20 }
        #expect(shed.map(\.value) == [1, 1])
        memory.report(loop: 1, bytes: 10) { 10 }
        #expect(shed.map(\.value) == [1, 1])
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

/// Counts calls from any thread.
private final class ResumeCount: Sendable {
    private let count = NIOLockedValueBox(0)

    var value: Int { self.count.withLockedValue { $0 } }

    func add() {
        self.count.withLockedValue { $0 += 1 }
    }
}
