import NIOCore

/// Addresses that only this machine can reach.
package enum Loopback {
    /// Whether `host` can only be reached from this machine. A name other than `localhost` may resolve to any address.
    package static func contains(_ host: String) -> Bool {
        if host == "localhost" { return true }
        // The system writes each address in one way.
        guard let text = try? SocketAddress(ipAddress: host, port: 0).ipAddress else { return false }
        return text.hasPrefix("127.") || text == "::1"
    }
}
