import NestClient

/// The settings for one server: an entry of the file of contexts. It has no secrets, only the paths of their files.
struct SavedContext: Codable, Equatable {
    /// One address, or a list of them.
    var server: String
    var tokenFile: String?
    /// The user's label, for a server without tokens.
    var user: String?
    /// `nil`: TLS is used if one of the following settings is present.
    var tls: Bool?
    /// The file with the authorities that may sign the server's certificate, in PEM. `nil`: the system's authorities.
    var tlsCA: String?
    var tlsServerName: String?
    var tlsCert: String?
    var tlsKey: String?

    /// Whether a context can have this name.
    static func isName(_ text: String) -> Bool {
        text.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._-]{0,63}/) != nil
    }

    /// The settings for servers that are specified only by their addresses.
    init(at servers: ServerAddresses) {
        self.server = servers.description
        if servers.usesTLS { self.tls = true }
    }

    var isTLS: Bool {
        self.tls ?? (self.tlsCA != nil || self.tlsServerName != nil || self.tlsCert != nil || self.tlsKey != nil)
    }

    func clientTLS() throws -> ClientTLS? {
        guard self.isTLS else { return nil }
        guard (self.tlsCert == nil) == (self.tlsKey == nil) else {
            throw CommandFailure(.usage, "--tls-cert and --tls-key need each other")
        }
        return ClientTLS(
            authorityFile: self.tlsCA,
            serverName: self.tlsServerName,
            certificateFile: self.tlsCert,
            keyFile: self.tlsKey
        )
    }
}
