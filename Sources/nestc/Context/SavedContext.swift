import NestClient

/// How one server is reached: an entry of the file of contexts. No secret is in it, only where they are.
struct SavedContext: Codable, Equatable {
    var server: String
    var tokenFile: String?
    /// `nil` as good as false.
    var tls: Bool?
    /// Certificates in PEM, of who may vouch for the server; without it those of the system.
    var tlsCA: String?
    var tlsServerName: String?
    var tlsCert: String?
    var tlsKey: String?

    var isTLS: Bool {
        self.tls ?? (self.tlsCA != nil || self.tlsServerName != nil || self.tlsCert != nil || self.tlsKey != nil)
    }

    func clientTLS() throws -> ClientTLS? {
        guard self.isTLS else { return nil }
        guard (self.tlsCert == nil) == (self.tlsKey == nil) else {
            throw CommandFailure(.usage, "--tls-cert and --tls-key belong together")
        }
        return ClientTLS(
            authorityFile: self.tlsCA,
            serverName: self.tlsServerName,
            certificateFile: self.tlsCert,
            keyFile: self.tlsKey
        )
    }
}
