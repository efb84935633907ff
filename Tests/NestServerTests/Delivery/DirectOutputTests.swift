import Glibc
import NIOCore
import NestEngine
import NestServer
import Testing

struct DirectOutputTests {
    private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 / 7) } }

    private static func output(_ sockets: ConnectedSockets) -> DirectOutput {
        var output = DirectOutput()
        output.open(sockets.near)
        return output
    }

    @Test func smallWritesAreJoinedAndArriveWithOneFlush() throws {
        let sockets = try ConnectedSockets()
        var output = Self.output(sockets)
        let shared = ByteBuffer(bytes: [1, 2])
        output.hold(shared)
        output.hold(ByteBuffer(bytes: [3]))
        #expect(sockets.received().isEmpty)
        #expect(output.flush() == nil)
        #expect(!output.holdsBytes)
        #expect(sockets.received() == [1, 2, 3])
        #expect(Array(shared.readableBytesView) == [1, 2])
    }

    @Test func onlySmallWritesAreJoined() throws {
        let sockets = try ConnectedSockets()
        var output = Self.output(sockets)
        #expect(output.hasRoom(for: DirectOutput.joinedBytesMax + 1))
        output.hold(ByteBuffer(bytes: [1]))
        #expect(output.hasRoom(for: DirectOutput.joinedBytesMax - 1))
        #expect(!output.hasRoom(for: DirectOutput.joinedBytesMax))
    }

    /// A full socket takes a part, and then nothing.
    @Test func whatAFullSocketDoesNotAcceptIsReturned() throws {
        let sockets = try ConnectedSockets()
        var output = Self.output(sockets)
        let bytes = Self.bytes(1 << 20)
        output.hold(ByteBuffer(bytes: bytes))
        let returned = output.flush()
        let rest = try #require(returned)
        #expect(!output.holdsBytes)
        #expect(rest.readableBytes < bytes.count)
        output.hold(ByteBuffer(bytes: [1, 2]))
        #expect(output.flush() == ByteBuffer(bytes: [1, 2]))
        #expect(sockets.received() + Array(rest.readableBytesView) == bytes)
        output.hold(ByteBuffer(bytes: [3]))
        #expect(output.flush() == nil)
        #expect(sockets.received() == [3])
    }

    @Test func aBrokenSocketAcceptsNothing() throws {
        let sockets = try ConnectedSockets()
        var output = Self.output(sockets)
        sockets.closeFar()
        output.hold(ByteBuffer(bytes: [1, 2]))
        #expect(output.flush() == ByteBuffer(bytes: [1, 2]))
    }

    @Test func nothingIsWrittenAfterTheEnd() throws {
        let sockets = try ConnectedSockets()
        var output = Self.output(sockets)
        output.hold(ByteBuffer(bytes: [1]))
        output.close(ConnectionID(1))
        #expect(!output.isOpen)
        #expect(!output.holdsBytes)
        #expect(output.flush() == nil)
        #expect(sockets.received().isEmpty)
    }

    @Test func aGateGetsTheBytesUntilItIsOpen() throws {
        let sockets = try ConnectedSockets()
        var output = Self.output(sockets)
        let gate = OutputGate()
        output.hold(ByteBuffer(bytes: [1]))
        #expect(output.flush(into: gate, of: ConnectionID(1)) {})
        #expect(!output.holdsBytes && output.gate === gate)
        #expect(sockets.received().isEmpty)
        gate.open()
        #expect(sockets.received() == [1])
        #expect(output.leaveGate(ConnectionID(1)) == nil && output.gate == nil)
        output.hold(ByteBuffer(bytes: [2]))
        #expect(!output.flush(into: gate, of: ConnectionID(1)) {})
        #expect(output.flush() == nil)
        #expect(sockets.received() == [2])
    }

    @Test func atTheEndTheBytesInAGateAreDropped() throws {
        let sockets = try ConnectedSockets()
        var output = Self.output(sockets)
        let gate = OutputGate()
        output.hold(ByteBuffer(bytes: [1]))
        #expect(output.flush(into: gate, of: ConnectionID(1)) {})
        output.close(ConnectionID(1))
        gate.open()
        #expect(sockets.received().isEmpty)
    }
}
