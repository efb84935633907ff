import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NestEngine
import NestServer
import Testing

struct OutputGateTests {
    private static let (first, second) = (ConnectionID(1), ConnectionID(2))

    /// Counts the calls that a gate makes.
    private final class Calls: Sendable {
        private let box = NIOLockedValueBox(0)
        var count: Int { self.box.withLockedValue { $0 } }
        func add() { self.box.withLockedValue { $0 += 1 } }
    }

    @Test func aClosedGateSendsNothingAndAnOpenOneEverything() throws {
        let (one, two) = (try ConnectedSockets(), try ConnectedSockets())
        let (gate, calls) = (OutputGate(), Calls())
        #expect(gate.hold(ByteBuffer(bytes: [1, 2]), of: Self.first, one.near) { calls.add() })
        #expect(gate.hold(ByteBuffer(bytes: [3]), of: Self.second, two.near) { calls.add() })
        #expect(gate.hold(ByteBuffer(bytes: [4]), of: Self.first, one.near) { calls.add() })
        #expect(one.received().isEmpty && two.received().isEmpty && !gate.isDone)
        gate.open()
        #expect(one.received() == [1, 2, 4])
        #expect(two.received() == [3])
        #expect(gate.isDone && calls.count == 0)
        #expect(gate.take(Self.first) == nil)
        #expect(!gate.hold(ByteBuffer(bytes: [5]), of: Self.first, one.near) {})
        #expect(one.received().isEmpty)
    }

    /// A connection may end while its bytes wait, and the kernel gives its descriptor to the next one.
    @Test func aDescriptorThatIsUsedAgainGetsNothing() throws {
        let one = try ConnectedSockets()
        let gate = OutputGate()
        #expect(gate.hold(ByteBuffer(bytes: [1]), of: Self.first, one.near) {})
        one.closeNear()
        // One of these has it, unless another test was quicker.
        let next = try (0..<8).map { _ in try ConnectedSockets() }
        gate.open()
        #expect(one.received() == [1] && one.isFarAtEnd)
        for sockets in next { #expect(sockets.received().isEmpty && sockets.receivedNear().isEmpty) }
    }

    @Test func whatAFullSocketDoesNotAcceptComesBeforeTheRest() throws {
        let sockets = try ConnectedSockets()
        let (gate, calls) = (OutputGate(), Calls())
        let bytes = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 / 7) }
        #expect(gate.hold(ByteBuffer(bytes: bytes), of: Self.first, sockets.near) { calls.add() })
        gate.open()
        #expect(!gate.isDone && calls.count == 1)
        let received = sockets.received()
        // More of the same delivery, before the connection has taken the rest.
        #expect(gate.hold(ByteBuffer(bytes: [1, 2]), of: Self.first, sockets.near) { calls.add() })
        #expect(!gate.setAside(Self.first))
        guard case .unsent(let rest) = gate.take(Self.first) else { return #expect(Bool(false), "no rest") }
        #expect(received + Array(rest.readableBytesView) == bytes + [1, 2])
        #expect(gate.take(Self.first) == nil)
    }

    @Test func aConnectionWritesWhatItHasSetAside() throws {
        let (one, two) = (try ConnectedSockets(), try ConnectedSockets())
        let (gate, calls) = (OutputGate(), Calls())
        #expect(gate.hold(ByteBuffer(bytes: [1]), of: Self.first, one.near) { calls.add() })
        #expect(gate.hold(ByteBuffer(bytes: [2]), of: Self.second, two.near) {})
        #expect(gate.setAside(Self.first) && gate.setAside(Self.first))
        gate.open()
        #expect(one.received().isEmpty && calls.count == 1 && !gate.isDone)
        #expect(gate.take(Self.first) == .aside(ByteBuffer(bytes: [1])))
        #expect(two.received() == [2])
        #expect(gate.take(Self.second) == nil)
    }

    @Test func aBatchThatIsNeverDurableIsNotSent() throws {
        let sockets = try ConnectedSockets()
        let (gate, calls) = (OutputGate(), Calls())
        #expect(gate.hold(ByteBuffer(bytes: [1]), of: Self.first, sockets.near) { calls.add() })
        #expect(gate.whenOpen { calls.add() })
        gate.drop()
        // An event loop that comes too late.
        #expect(gate.hold(ByteBuffer(bytes: [2]), of: Self.second, sockets.near) { calls.add() })
        #expect(gate.whenOpen { calls.add() })
        #expect(gate.setAside(Self.first) && gate.take(Self.first) == nil && gate.take(Self.second) == nil)
        #expect(sockets.received().isEmpty && calls.count == 0 && !gate.isDone)
    }

    @Test func anEventLoopThatCannotUseTheGateIsCalledWhenItIsOpen() {
        let (gate, calls) = (OutputGate(), Calls())
        #expect(!gate.hadWaiters)
        #expect(gate.whenOpen { calls.add() })
        #expect(gate.hadWaiters && calls.count == 0)
        gate.open()
        #expect(calls.count == 1)
        #expect(!gate.whenOpen { calls.add() })
        #expect(calls.count == 1)
    }

    @Test func noDescriptorIsLost() throws {
        let sockets = try ConnectedSockets()
        // Those that end by themselves live on.
        var gates: [OutputGate] = []
        for end in 0..<4 {
            let gate = OutputGate()
            if end < 3 { gates.append(gate) }
            #expect(gate.hold(ByteBuffer(bytes: [1]), of: Self.first, sockets.near) {})
            switch end {
            case 0: gate.open()
            case 1: #expect(gate.take(Self.first) == nil)
            case 2: #expect(gate.setAside(Self.first))
            default: gate.drop()
            }
        }
        #expect(sockets.received() == [1])
        sockets.closeNear()
        withExtendedLifetime(gates) { #expect(sockets.isFarAtEnd) }
    }
}
