import Crypto
import Foundation
import SwiftASN1
import X509

/// A certificate authority created for one test, so that the repository contains no expiring certificates.
public struct TestAuthority {
    /// The certificate and key of a server or client.
    public struct Identity {
        public let certificateFile: String
        public let keyFile: String
    }

    private let certificate: Certificate
    private let key: Certificate.PrivateKey
    private let directory: TemporaryDirectory
    /// The path of the authority's own certificate, in PEM.
    public let file: String
    /// The path of its key. With it, the authority's certificate is a self-signed certificate of a server.
    public let keyFile: String

    public init(_ name: String, in directory: TemporaryDirectory) throws {
        self.directory = directory
        let key = P256.Signing.PrivateKey()
        self.key = Certificate.PrivateKey(key)
        let subject = try DistinguishedName { CommonName(name) }
        self.certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: self.key.publicKey,
            notValidBefore: Date(timeIntervalSinceNow: -3_600),
            notValidAfter: Date(timeIntervalSinceNow: 86_400),
            issuer: subject,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(digitalSignature: true, keyCertSign: true))
            },
            issuerPrivateKey: self.key
        )
        self.file = "\(directory.path)/\(name).pem"
        try Self.write(try self.certificate.serializeAsPEM().pemString, to: self.file)
        self.keyFile = "\(directory.path)/\(name).authority.key"
        try Self.write(key.pemRepresentation, to: self.keyFile)
    }

    /// Creates a certificate for `localhost`, 127.0.0.1 or another name. `validIn`: the period of validity, in seconds
    /// from now.
    public func identity(
        _ name: String,
        host: String? = "localhost",
        validIn seconds: ClosedRange<Double> = -3_600...86_400
    ) throws -> Identity {
        let key = P256.Signing.PrivateKey()
        let names: [GeneralName] =
            host == "127.0.0.1"
            ? [.ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1]))] : host.map { [.dnsName($0)] } ?? []
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: Date(timeIntervalSinceNow: seconds.lowerBound),
            notValidAfter: Date(timeIntervalSinceNow: seconds.upperBound),
            issuer: self.certificate.subject,
            subject: try DistinguishedName { CommonName(name) },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                if !names.isEmpty { SubjectAlternativeNames(names) }
            },
            issuerPrivateKey: self.key
        )
        let identity = Identity(
            certificateFile: "\(self.directory.path)/\(name).crt",
            keyFile: "\(self.directory.path)/\(name).key"
        )
        try Self.write(try certificate.serializeAsPEM().pemString, to: identity.certificateFile)
        try Self.write(key.pemRepresentation, to: identity.keyFile)
        return identity
    }

    private static func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
    }
}
