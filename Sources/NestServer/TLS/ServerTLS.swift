import Glibc
import NIOConcurrencyHelpers
import NIOSSL
import NestModel

/// The server's side of TLS: version 1.3 alone, for the protocol of nest alone, from the first byte of a connection.
package final class ServerTLS: Sendable {
    /// Where certificates and keys are, all in PEM.
    package struct Files: Sendable, Equatable {
        /// The server's, and those that lead from it to an authority.
        package var certificate: String
        package var key: String
        /// Of the authorities whose clients are let in; `nil`: no client is asked for a certificate.
        package var clientAuthority: String?

        package init(certificate: String, key: String, clientAuthority: String? = nil) {
            self.certificate = certificate
            self.key = key
            self.clientAuthority = clientAuthority
        }
    }

    /// Why certificates cannot be used, in words for people.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// As ALPN names the protocol.
    package static let applicationProtocol = "nest/1"

    private let files: Files
    private let context: NIOLockedValueBox<NIOSSLContext>

    /// Reads the files. Blocks.
    package init(_ files: Files) throws(Failure) {
        self.files = files
        self.context = NIOLockedValueBox(try Self.context(files))
    }

    /// Reads the files again. Once the answer is called, new connections get what they hold now; when they are no good everything
    /// stays as it was. Blocks.
    package func prepared() throws(Failure) -> @Sendable () -> Void {
        let context = try Self.context(self.files)
        return { self.context.withLockedValue { $0 = context } }
    }

    /// The first handler of a connection.
    func makeHandler() -> NIOSSLServerHandler { NIOSSLServerHandler(context: self.context.withLockedValue { $0 }) }

    private static func context(_ files: Files) throws(Failure) -> NIOSSLContext {
        let chain = try self.certificates(files.certificate)
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        guard chain[0].notValidAfter > now.tv_sec else {
            throw Failure(description: "the certificate in \(files.certificate) has expired")
        }
        let key: NIOSSLPrivateKey
        do {
            key = try NIOSSLPrivateKey(file: files.key, format: .pem)
        } catch {
            throw Failure(description: "\(files.key) holds no private key that can be read")
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv13
        configuration.applicationProtocols = [self.applicationProtocol]
        if let authority = files.clientAuthority {
            configuration.trustRoots = .certificates(try self.certificates(authority))
            // Names in clients' certificates are not addresses; that there is a certificate is required.
            configuration.certificateVerification = .noHostnameVerification
        }
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw Failure(description: "the key in \(files.key) is not that of the certificate in \(files.certificate)")
        }
    }

    private static func certificates(_ path: String) throws(Failure) -> [NIOSSLCertificate] {
        do {
            let certificates = try NIOSSLCertificate.fromPEMFile(path)
            guard !certificates.isEmpty else { throw Failure(description: "") }
            return certificates
        } catch {
            throw Failure(description: "\(path) holds no certificate that can be read")
        }
    }
}
