import Glibc
import Testing

/// Two connected sockets; the first one's buffer is small.
final class ConnectedSockets {
    private(set) var near: CInt
    private(set) var far: CInt

    init() throws {
        var descriptors: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &descriptors) == 0)
        (self.near, self.far) = (descriptors[0], descriptors[1])
        var bytes: CInt = 8 << 10
        setsockopt(self.near, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<CInt>.size))
    }

    deinit {
        self.closeNear()
        self.closeFar()
    }

    func closeNear() {
        if self.near >= 0 { close(self.near) }
        self.near = -1
    }

    func closeFar() {
        if self.far >= 0 { close(self.far) }
        self.far = -1
    }

    /// Returns what has arrived.
    func received() -> [UInt8] { Self.receive(self.far) }

    func receivedNear() -> [UInt8] { Self.receive(self.near) }

    private static func receive(_ descriptor: CInt) -> [UInt8] {
        var result: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT))
            guard count > 0 else { return result }
            result += bytes.prefix(count)
        }
    }

    /// Whether every descriptor of the other side is closed.
    var isFarAtEnd: Bool {
        var byte: UInt8 = 0
        return recv(self.far, &byte, 1, CInt(MSG_DONTWAIT)) == 0
    }
}
