/// Encrypts the connection and authenticates the server: TLS 1.3, from the first byte. The server's certificate is
/// always verified; there is no fallback.
public struct ClientTLS: Hashable, Sendable {
    /// A PEM file with the certificates of authorities that may sign the server's certificate; `nil`: the system's
    /// authorities.
    public var authorityFile: String?
    /// The name that the server's certificate must have; `nil`: the host of the connection.
    public var serverName: String?
    /// PEM files with this client's own certificate and key, for a server that requires them.
    public var certificateFile: String?
    public var keyFile: String?

    public init(
        authorityFile: String? = nil,
        serverName: String? = nil,
        certificateFile: String? = nil,
        keyFile: String? = nil
    ) {
        self.authorityFile = authorityFile
        self.serverName = serverName
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }

    /// The protocol's name in ALPN.
    static let applicationProtocol = "nest/1"
}
