import Glibc
import PeerWires

/// One socket of the load client, and what its wire has counted.
final class LoadConnection {
    let descriptor: Int32
    /// Its number among those of its kind.
    let index: Int
    let wire: any PeerWire
    fileprivate(set) var isReady = false
    fileprivate var isWaitingToWrite = false
    fileprivate var unsent: [UInt8]
    /// How much of `unsent` is sent.
    fileprivate var sentBytes = 0

    /// Connects without waiting, and has the wire's opening to send.
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

    /// Sends what can be sent now. Answers whether the socket must be asked when there is room.
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
                // Not connected yet is no room either.
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
    /// Sends what is waiting, and asks to be told of room when there is not enough.
    func flush(_ connection: LoadConnection) throws {
        let waits = try connection.flush()
        guard waits != connection.isWaitingToWrite else { return }
        connection.isWaitingToWrite = waits
        try self.watch(connection, writing: waits)
    }

    /// Sends what `body` appends.
    func send(_ connection: LoadConnection, _ body: (inout [UInt8]) -> Void) throws {
        body(&connection.unsent)
        if !connection.isWaitingToWrite { try self.flush(connection) }
    }

    /// Counts what one read brought; sends what the wire has to say to it.
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
