import CEpoll
import Glibc
import PeerWires

/// The load client: one thread and one epoll with all connections to a peer. All peers use the same client.
///
/// It uses no event loop of a library, so that it needs less processor time than any server that it measures.
final class LoadLoop {
    private static let eventsMax = 512
    private static let readBytes = 1 << 18

    private let epoll: Int32
    private let interrupt: Interrupt
    /// The connections by descriptor.
    private var connections: [LoadConnection?] = []
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: LoadLoop.readBytes, alignment: 16)
    private let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: LoadLoop.eventsMax)

    init(_ interrupt: Interrupt) throws {
        self.interrupt = interrupt
        self.epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard self.epoll >= 0 else { throw SystemFailure("epoll_create1") }
        try self.control(EPOLL_CTL_ADD, interrupt.descriptor, writing: false)
    }

    deinit {
        for connection in self.connections { if let connection { Glibc.close(connection.descriptor) } }
        Glibc.close(self.epoll)
        self.buffer.deallocate()
        self.events.deallocate()
    }

    /// Starts a connection, which becomes ready in a later turn.
    func connect(port: Int, index: Int, wire: any PeerWire) throws -> LoadConnection {
        let connection = try LoadConnection(port: port, index: index, wire: wire)
        let slot = Int(connection.descriptor)
        while self.connections.count <= slot { self.connections.append(nil) }
        self.connections[slot] = connection
        try self.control(EPOLL_CTL_ADD, connection.descriptor, writing: false)
        try self.flush(connection)
        return connection
    }

    /// Opens connections and waits until they are ready. It opens 64 at a time, so that no server's backlog overflows.
    func connect(port: Int, _ wires: [any PeerWire]) throws -> [LoadConnection] {
        var made: [LoadConnection] = []
        made.reserveCapacity(wires.count)
        while made.count < wires.count {
            let first = made.count
            for index in first..<min(first + 64, wires.count) {
                made.append(try self.connect(port: port, index: index, wire: wires[index]))
            }
            try self.turn(
                until: { made[first...].allSatisfy(\.isReady) },
                within: 60,
                "\(made[first...].count { !$0.isReady }) connections did not become ready"
            )
        }
        return made
    }

    func close(_ connection: LoadConnection) {
        self.connections[Int(connection.descriptor)] = nil
        Glibc.close(connection.descriptor)
    }

    /// Runs turns until `isDone` returns true. Throws if nothing arrives for `limit` seconds.
    func turn(
        until isDone: () -> Bool,
        within limit: Double,
        _ failure: @autoclosure () -> String,
        _ onReceived: (LoadConnection, Received) throws -> Void = { _, _ in }
    ) throws {
        var last = monotonicTime()
        while !isDone() {
            let came = try self.turn(milliseconds: 100, onReceived)
            if came { last = monotonicTime() }
            if seconds(since: last) > limit { throw PeerRefusal(failure()) }
        }
    }

    /// Runs one turn: waits for at most this time and reads the bytes that have arrived. Returns whether there was an
    /// event.
    @discardableResult
    func turn(milliseconds: Int, _ onReceived: (LoadConnection, Received) throws -> Void) throws -> Bool {
        let count = epoll_wait(self.epoll, self.events, Int32(Self.eventsMax), Int32(milliseconds))
        guard count >= 0 || errno == EINTR else { throw SystemFailure("epoll_wait") }
        for index in 0..<max(Int(count), 0) {
            let event = self.events[index]
            if event.data.fd == self.interrupt.descriptor { throw Interrupted() }
            guard let connection = self.connections[Int(event.data.fd)] else { continue }
            if event.events & EPOLLOUT.rawValue != 0 { try self.flush(connection) }
            if event.events & ~EPOLLOUT.rawValue != 0 { try self.read(connection, onReceived) }
        }
        return count > 0
    }

    private func read(_ connection: LoadConnection, _ onReceived: (LoadConnection, Received) throws -> Void) throws {
        let count = recv(connection.descriptor, self.buffer.baseAddress, self.buffer.count, 0)
        if count < 0 {
            if errno == EAGAIN || errno == EINTR { return }
            throw SystemFailure("recv")
        }
        guard count > 0 else { throw PeerRefusal("the server closed a connection") }
        let received = try self.take(connection, UnsafeRawBufferPointer(rebasing: self.buffer[..<count]))
        if received != Received() { try onReceived(connection, received) }
    }

    func watch(_ connection: LoadConnection, writing: Bool) throws {
        try self.control(EPOLL_CTL_MOD, connection.descriptor, writing: writing)
    }

    private func control(_ operation: Int32, _ descriptor: Int32, writing: Bool) throws {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue | (writing ? EPOLLOUT.rawValue : 0)
        event.data.fd = descriptor
        guard epoll_ctl(self.epoll, operation, descriptor, &event) == 0 else { throw SystemFailure("epoll_ctl") }
    }
}
