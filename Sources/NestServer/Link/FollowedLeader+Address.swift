extension FollowedLeader {
    /// The host, without brackets, and the port; `nil` if the address has none.
    var hostAndPort: (host: String, port: Int)? {
        guard let colon = self.address.lastIndex(of: ":"),
            let port = UInt16(self.address[self.address.index(after: colon)...]), port > 0
        else { return nil }
        var host = self.address[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        return host.isEmpty ? nil : (String(host), Int(port))
    }
}
