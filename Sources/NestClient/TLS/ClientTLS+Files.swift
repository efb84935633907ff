import NIOSSL
import NestModel
import NestSecrets

/// Reads the client's files in PEM.
extension ClientTLS {
    /// Reads the files. Blocks.
    func context() throws(Fault) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv13
        configuration.applicationProtocols = [Self.applicationProtocol]
        if let authorityFile {
            configuration.trustRoots = .certificates(try Self.certificates(authorityFile))
        }
        guard let certificateFile else { return try Self.context(configuration) }
        let chain = try Self.certificates(certificateFile)
        configuration.certificateChain = chain.map { .certificate($0) }
        let keyFile = self.keyFile ?? certificateFile
        try Self.checkReadable(keyFile)
        do {
            configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: keyFile, format: .pem))
        } catch {
            throw Fault(reason: .noPrivateKey(inFile: keyFile))
        }
        do {
            return try Self.context(configuration)
        } catch {
            throw Fault(reason: .wrongPrivateKey(inFile: keyFile))
        }
    }

    /// Why there is no context.
    struct Fault: Error {
        var reason: ConnectFault.Reason
    }

    private static func context(_ configuration: TLSConfiguration) throws(Fault) -> NIOSSLContext {
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw Fault(reason: .tlsFailure("\(error)"))
        }
    }

    private static func certificates(_ path: String) throws(Fault) -> [NIOSSLCertificate] {
        try self.checkReadable(path)
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(path), !certificates.isEmpty else {
            throw Fault(reason: .noCertificate(inFile: path))
        }
        return certificates
    }

    private static func checkReadable(_ path: String) throws(Fault) {
        switch SecretFile.fault(path) {
        case nil: break
        case .missing: throw Fault(reason: .missingFile(path))
        case .unreadable(let reason): throw Fault(reason: .unreadableFile(path, reason))
        }
    }
}
