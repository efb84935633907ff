import Glibc
import PeerWires

/// One socket of the load client, with its wire.
final class LoadConnection {
    let descriptor: Int32
    /// The index among the connections of its kind.
    let index: Int
    let wire: any PeerWire
    fileprivate(set) var isReady = false
    fileprivate var isWaitingToWrite = false
    fileprivate var unsent: [UInt8]
    /// The number of bytes of `unsent` that were sent.
    fileprivate var sentBytes = 0

    /// Starts to connect without waiting, and queues the wire's opening.
    init(port: Int, index: Int, wire: any PeerWire) throws {
        self.index = index
        self.wire = wire
        self.unsent = wire.opening
        self.descriptor = socket(
            AF_INET,
            Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue),
            0
        )
        guard self.descriptor >= 0 else { throw SystemFailure("socket") }
        var on: Int32 = 1
        setsockopt(self.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in.loopback(port: port)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 || errno == EINPROGRESS else {
            let failure = SystemFailure("connect")
            close(self.descriptor)
            throw failure
        }
    }

    /// Sends as many bytes as the socket accepts. Returns whether to wait for room in the socket.
    fileprivate func flush() throws -> Bool {
        while self.sentBytes < self.unsent.count {
            let count = self.unsent.withUnsafeBytes {
                send(
                    self.descriptor,
                    $0.baseAddress! + self.sentBytes,
                    $0.count - self.sentBytes,
                    Int32(MSG_NOSIGNAL)
                )
            }
            if count < 0 {
                if errno == EINTR { continue }
                // A socket that is not connected yet has no room either.
                if errno == EAGAIN || errno == ENOTCONN { return true }
                throw SystemFailure("send")
            }
            self.sentBytes += count
        }
        self.unsent.removeAll(keepingCapacity: self.unsent.count <= 1 << 20)
        self.sentBytes = 0
        return false
    }
}

extension LoadLoop {
    /// Sends the queued bytes, and watches for room if the socket does not accept all of them.
    func flush(_ connection: LoadConnection) throws {
        let waits = try connection.flush()
        guard waits != connection.isWaitingToWrite else { return }
        connection.isWaitingToWrite = waits
        try self.watch(connection, writing: waits)
    }

    /// Sends the bytes that `body` appends.
    func send(_ connection: LoadConnection, _ body: (inout [UInt8]) -> Void) throws {
        body(&connection.unsent)
        if !connection.isWaitingToWrite { try self.flush(connection) }
    }

    /// Counts the bytes of one read and sends the wire's reply to them.
    func take(_ connection: LoadConnection, _ bytes: UnsafeRawBufferPointer) throws -> Received {
        let before = connection.unsent.count
        let received = try connection.wire.take(bytes, reply: &connection.unsent)
        if received.isReady { connection.isReady = true }
        if connection.unsent.count > before, !connection.isWaitingToWrite { try self.flush(connection) }
        return received
    }
}

extension sockaddr_in {
    static func loopback(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
