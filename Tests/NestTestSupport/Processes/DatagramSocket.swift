#if canImport(Glibc)
import Glibc
#endif

/// A datagram socket that receives notifications, as systemd's does.
public final class DatagramSocket: Sendable {
    /// The name in the form of `NOTIFY_SOCKET`.
    public let name: String
    private let descriptor: Int32
    private let directory: TemporaryDirectory?

    /// Creates a socket in the abstract namespace, or as a file in its own directory.
    public init(isAbstract: Bool) throws {
        let directory = isAbstract ? nil : TemporaryDirectory()
        self.directory = directory
        self.name =
            directory.map { "\($0.path)/notify" } ?? "@nest-test-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
        self.descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(self.name.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw ProcessFailure("\(self.name) is too long for a socket")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            path.copyBytes(from: bytes)
            if isAbstract { path[0] = 0 }
        }
        let length = MemoryLayout.offset(of: \sockaddr_un.sun_path)! + bytes.count + (isAbstract ? 0 : 1)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(self.descriptor, $0, socklen_t(length)) }
        }
        guard result == 0 else { throw ProcessFailure("cannot bind \(self.name): \(String(cString: strerror(errno)))") }
    }

    deinit { close(self.descriptor) }

    /// Returns the next datagram, or `nil` if none arrives within `testPatience`.
    public func next() -> String? {
        var waiting = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, Int32(Duration.testPatience.components.seconds * 1_000)) == 1 else { return nil }
        return self.nextAtOnce()
    }

    /// Returns the waiting datagram, or `nil` if there is none.
    public func nextAtOnce() -> String? {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = recv(self.descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
