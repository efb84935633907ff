import Glibc
import NIOCore
import NestServer
import Testing

struct DirectOutputTests {
    /// Two connected sockets; the first one's buffer is small.
    private final class Sockets {
        let near: CInt
        private(set) var far: CInt

        init() throws {
            var descriptors: [CInt] = [-1, -1]
            try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &descriptors) == 0)
            (self.near, self.far) = (descriptors[0], descriptors[1])
            var bytes: CInt = 8 << 10
            setsockopt(self.near, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<CInt>.size))
        }

        deinit {
            close(self.near)
            self.closeFar()
        }

        func closeFar() {
            if self.far >= 0 { close(self.far) }
            self.far = -1
        }

        /// Returns what has arrived.
        func received() -> [UInt8] {
            var result: [UInt8] = []
            var bytes = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = recv(self.far, &bytes, bytes.count, CInt(MSG_DONTWAIT))
                guard count > 0 else { return result }
                result += bytes.prefix(count)
            }
        }
    }

    private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 / 7) } }

    private static func output(_ sockets: Sockets) -> DirectOutput {
        var output = DirectOutput()
        output.open(sockets.near)
        return output
    }

    @Test func smallWritesAreJoinedAndArriveWithOneFlush() throws {
        let sockets = try Sockets()
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
        let sockets = try Sockets()
        var output = Self.output(sockets)
        #expect(output.hasRoom(for: DirectOutput.joinedBytesMax + 1))
        output.hold(ByteBuffer(bytes: [1]))
        #expect(output.hasRoom(for: DirectOutput.joinedBytesMax - 1))
        #expect(!output.hasRoom(for: DirectOutput.joinedBytesMax))
    }

    /// A full socket takes a part, and then nothing.
    @Test func whatAFullSocketDoesNotAcceptIsReturned() throws {
        let sockets = try Sockets()
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
        let sockets = try Sockets()
        var output = Self.output(sockets)
        sockets.closeFar()
        output.hold(ByteBuffer(bytes: [1, 2]))
        #expect(output.flush() == ByteBuffer(bytes: [1, 2]))
    }

    @Test func nothingIsWrittenAfterTheEnd() throws {
        let sockets = try Sockets()
        var output = Self.output(sockets)
        output.hold(ByteBuffer(bytes: [1]))
        output.close()
        #expect(!output.isOpen)
        #expect(!output.holdsBytes)
        #expect(output.flush() == nil)
        #expect(sockets.received().isEmpty)
    }
}
