import CCrypto
import Foundation

/// A certificate authority created for one test, so that the repository contains no expiring certificates.
///
/// The system's libcrypto makes the certificates: Swift's packages for that would be a quarter of a build.
public struct TestAuthority {
    /// The certificate and key of a server or client.
    public struct Identity {
        public let certificateFile: String
        public let keyFile: String
    }

    private let certificate: TestCertificate
    private let directory: TemporaryDirectory
    /// The path of the authority's own certificate, in PEM.
    public let file: String
    /// The path of its key. With it, the authority's certificate is a self-signed certificate of a server.
    public let keyFile: String

    public init(_ name: String, in directory: TemporaryDirectory) throws {
        self.directory = directory
        self.certificate = try TestCertificate(
            name,
            validIn: -3_600...86_400,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE"),
                (NID_key_usage, "critical,digitalSignature,keyCertSign"),
            ]
        )
        self.file = "\(directory.path)/\(name).pem"
        self.keyFile = "\(directory.path)/\(name).authority.key"
        try self.certificate.write(certificate: self.file, key: self.keyFile)
    }

    /// Creates a certificate for `localhost`, 127.0.0.1 or another name. `validIn`: the period of validity, in seconds
    /// from now.
    public func identity(
        _ name: String,
        host: String? = "localhost",
        validIn seconds: ClosedRange<Int> = -3_600...86_400
    ) throws -> Identity {
        var extensions = [(NID_basic_constraints, "critical,CA:FALSE")]
        if let host { extensions.append((NID_subject_alt_name, host == "127.0.0.1" ? "IP:\(host)" : "DNS:\(host)")) }
        let certificate = try TestCertificate(
            name,
            validIn: seconds,
            extensions: extensions,
            issuer: self.certificate
        )
        let identity = Identity(
            certificateFile: "\(self.directory.path)/\(name).crt",
            keyFile: "\(self.directory.path)/\(name).key"
        )
        try certificate.write(certificate: identity.certificateFile, key: identity.keyFile)
        return identity
    }
}
