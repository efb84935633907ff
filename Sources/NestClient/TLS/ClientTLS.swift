import NIOSSL
import NestModel

/// How a client makes sure that it talks to its server and that nobody else listens: TLS 1.3, from the first byte. The
/// server's certificate is always verified; there is no falling back to less.
public struct ClientTLS: Hashable, Sendable {
    /// A file in PEM with the certificates of those who may vouch for the server; `nil`: those that the system trusts.
    public var authorityFile: String?
    /// The name that the server's certificate must have; `nil`: the host that is connected to.
    public var serverName: String?
    /// Files in PEM with this client's own certificate and key, for a server that wants to see one.
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

    /// As ALPN names the protocol.
    static let applicationProtocol = "nest/1"

    /// Reads the files. Blocks.
    func context() throws(NestError) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv13
        configuration.applicationProtocols = [Self.applicationProtocol]
        if let authorityFile {
            configuration.trustRoots = .certificates(try Self.certificates(authorityFile))
        }
        if let certificateFile {
            let chain = try Self.certificates(certificateFile)
            configuration.certificateChain = chain.map { .certificate($0) }
            do {
                configuration.privateKey = .privateKey(
                    try NIOSSLPrivateKey(file: self.keyFile ?? certificateFile, format: .pem)
                )
            } catch {
                throw NestError(.untrusted, "\(self.keyFile ?? certificateFile) holds no private key that can be read")
            }
        }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw NestError(.untrusted, "the files for TLS do not fit together: \(error)")
        }
    }

    private static func certificates(_ path: String) throws(NestError) -> [NIOSSLCertificate] {
        do {
            return try NIOSSLCertificate.fromPEMFile(path)
        } catch {
            throw NestError(.untrusted, "\(path) holds no certificate that can be read")
        }
    }
}
