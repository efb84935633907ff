import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NIOSSL
import NestModel
import NestSecrets

/// The server's side of TLS: only version 1.3, only nest's protocol, from the first byte of a connection.
package final class ServerTLS: Sendable {
    /// The files with certificates and keys, all in PEM.
    package struct Files: Sendable, Equatable {
        /// The server's certificate, followed by intermediate certificates.
        package var certificate: String
        package var key: String
        /// The files that must stay secret.
        var secret: [String] { [self.key] }
        /// The authorities that sign clients' certificates; `nil` if clients need no certificate.
        package var clientAuthority: String?

        package init(certificate: String, key: String, clientAuthority: String? = nil) {
            self.certificate = certificate
            self.key = key
            self.clientAuthority = clientAuthority
        }
    }

    /// The reason why the certificates cannot be used.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The protocol's name in ALPN.
    package static let applicationProtocol = "nest/1"
    /// The same of the web port.
    package static let webApplicationProtocol = "http/1.1"

    let files: Files
    private let contexts: NIOLockedValueBox<Contexts>

    private struct Contexts {
        let nest: NIOSSLContext
        let web: NIOSSLContext

        init(_ files: Files) throws(Failure) {
            self.nest = try ServerTLS.context(files, ServerTLS.applicationProtocol)
            self.web = try ServerTLS.context(files, ServerTLS.webApplicationProtocol)
        }
    }

    /// Reads the files. Blocks.
    package init(_ files: Files) throws(Failure) {
        self.files = files
        self.contexts = NIOLockedValueBox(try Contexts(files))
    }

    /// Reads the files again. Returns a closure that makes new connections use them. Throws, and changes nothing, if
    /// they cannot be used. Blocks.
    package func prepared() throws(Failure) -> @Sendable () -> Void {
        let contexts = try Contexts(self.files)
        return { self.contexts.withLockedValue { $0 = contexts } }
    }

    /// Returns the first handlers of a connection.
    func makeHandlers() -> [any ChannelHandler] {
        let context = self.contexts.withLockedValue { $0.nest }
        return [NIOSSLServerHandler(context: context), ProtocolGate([Self.applicationProtocol])]
    }

    /// The same for the web port. Programs other than browsers may name no protocol.
    func makeWebHandlers() -> [any ChannelHandler] {
        let context = self.contexts.withLockedValue { $0.web }
        return [NIOSSLServerHandler(context: context), ProtocolGate([Self.webApplicationProtocol, nil])]
    }

    /// Reads the certificate with its chain, and the key. Blocks.
    static func identity(
        _ files: Files
    ) throws(Failure) -> (chain: [NIOSSLCertificate], key: NIOSSLPrivateKey) {
        let chain = try self.certificates(files.certificate)
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        guard chain[0].notValidAfter > now.tv_sec else {
            throw Failure(description: "the certificate in \(files.certificate) has expired")
        }
        try self.checkReadable(files.key, "key")
        let key: NIOSSLPrivateKey
        do {
            key = try NIOSSLPrivateKey(file: files.key, format: .pem)
        } catch {
            throw Failure(description: "\(files.key) contains no private key in PEM")
        }
        return (chain, key)
    }

    private static func context(_ files: Files, _ applicationProtocol: String) throws(Failure) -> NIOSSLContext {
        let (chain, key) = try self.identity(files)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv13
        configuration.applicationProtocols = [applicationProtocol]
        if let authority = files.clientAuthority {
            configuration.trustRoots = .certificates(try self.certificates(authority))
            // Clients must have a certificate. The names in it are not host names, so they are not verified.
            configuration.certificateVerification = .noHostnameVerification
        }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw Failure(description: "the key in \(files.key) does not match the certificate in \(files.certificate)")
        }
    }

    static func certificates(_ path: String) throws(Failure) -> [NIOSSLCertificate] {
        try self.checkReadable(path, "certificate")
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(path), !certificates.isEmpty else {
            throw Failure(description: "\(path) contains no certificate in PEM")
        }
        return certificates
    }

    private static func checkReadable(_ path: String, _ what: String) throws(Failure) {
        if let fault = SecretFile.fault(path) {
            throw Failure(description: "cannot read the \(what) \(path): \(fault)")
        }
    }
}
