import Glibc
import NestProtocol

/// Reports the state of the service to systemd, in datagrams to the socket in `NOTIFY_SOCKET` (sd_notify(3)).
package struct ServiceNotifier: Sendable {
    package enum Message: Equatable, Sendable {
        case ready(status: String)
        /// The service reads its configuration again; `ready` follows.
        case reloading
        case stopping
        case watchdog

        var text: String {
            switch self {
            case .ready(let status): "READY=1\nSTATUS=\(status)"
            case .reloading: "RELOADING=1\nMONOTONIC_USEC=\(Self.monotonicMicroseconds())"
            case .stopping: "STOPPING=1"
            case .watchdog: "WATCHDOG=1"
            }
        }

        private static func monotonicMicroseconds() -> Int64 {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
        }
    }

    /// A path, or a name in the abstract namespace after an @.
    private let address: String

    /// Returns `nil` when systemd did not start the process, or not as a service that notifies.
    package init?(environment: [String: String]) {
        guard let address = environment["NOTIFY_SOCKET"], address.hasPrefix("/") || address.hasPrefix("@"),
            address.utf8.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path)
        else { return nil }
        self.address = address
    }

    /// Returns how long the watchdog waits; `nil` when there is none, or it is for another process.
    package static func watchdogInterval(environment: [String: String]) -> Duration? {
        guard let text = environment["WATCHDOG_USEC"], let microseconds = Int64(text), microseconds > 0 else {
            return nil
        }
        if let pid = environment["WATCHDOG_PID"], Int32(pid) != getpid() { return nil }
        return .microseconds(microseconds)
    }

    /// Sends one message. Ignores errors: they could be reported to nothing else.
    package func send(_ message: Message) {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return }
        defer { close(socket) }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(self.address.utf8)
        withUnsafeMutableBytes(of: &name.sun_path) { path in
            path.copyBytes(from: bytes)
            if bytes[0] == UInt8(ascii: "@") { path[0] = 0 }
        }
        // An abstract name ends with the length, a path with a zero byte.
        let isAbstract = bytes[0] == UInt8(ascii: "@")
        let length = MemoryLayout.offset(of: \sockaddr_un.sun_path)! + bytes.count + (isAbstract ? 0 : 1)
        let text = Array(message.text.utf8)
        _ = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                sendto(socket, text, text.count, Int32(MSG_NOSIGNAL), address, socklen_t(length))
            }
        }
    }
}
