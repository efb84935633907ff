import CCrypto

/// A certificate of X.509 with a new key on the curve P-256, signed by its issuer with ECDSA and SHA-256.
final class TestCertificate {
    private let certificate: OpaquePointer
    private let key: OpaquePointer

    /// `extensions`: their numbers and values, as in a configuration file of OpenSSL. Without an issuer, the
    /// certificate signs itself.
    init(
        _ name: String,
        validIn seconds: ClosedRange<Int>,
        extensions: [(number: Int32, value: String)],
        issuer: TestCertificate? = nil
    ) throws {
        self.certificate = try Failure.check(X509_new())
        self.key = try Self.newKey()
        try Failure.check(X509_set_version(self.certificate, 2))
        let serial = Int.random(in: 1 ... .max)
        try Failure.check(ASN1_INTEGER_set_int64(X509_get_serialNumber(self.certificate), Int64(serial)))
        X509_gmtime_adj(X509_getm_notBefore(self.certificate), seconds.lowerBound)
        X509_gmtime_adj(X509_getm_notAfter(self.certificate), seconds.upperBound)
        try Failure.check(X509_set_pubkey(self.certificate, self.key))
        let subject = X509_get_subject_name(self.certificate)
        try Failure.check(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, name, -1, -1, 0))
        let authority = issuer ?? self
        try Failure.check(X509_set_issuer_name(self.certificate, X509_get_subject_name(authority.certificate)))
        for (number, value) in extensions {
            let made = try Failure.check(X509V3_EXT_conf_nid(nil, nil, number, value))
            defer { X509_EXTENSION_free(made) }
            try Failure.check(X509_add_ext(self.certificate, made, -1))
        }
        try Failure.check(X509_sign(self.certificate, authority.key, EVP_sha256()))
    }

    deinit {
        X509_free(self.certificate)
        EVP_PKEY_free(self.key)
    }

    /// Writes both files in PEM.
    func write(certificate: String, key: String) throws {
        try Self.write(to: certificate) { PEM_write_bio_X509($0, self.certificate) }
        try Self.write(to: key) { PEM_write_bio_PrivateKey($0, self.key, nil, nil, 0, nil, nil) }
    }

    private static func newKey() throws -> OpaquePointer {
        let context = try Failure.check(EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil))
        defer { EVP_PKEY_CTX_free(context) }
        try Failure.check(EVP_PKEY_keygen_init(context))
        try Failure.check(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1))
        var key: OpaquePointer?
        try Failure.check(EVP_PKEY_keygen(context, &key))
        return try Failure.check(key)
    }

    private static func write(to path: String, _ body: (OpaquePointer) -> Int32) throws {
        let file = try Failure.check(BIO_new_file(path, "w"))
        defer { BIO_free(file) }
        try Failure.check(body(file))
    }

    private struct Failure: Error, CustomStringConvertible {
        let description: String

        @discardableResult
        static func check<Result>(_ result: Result?) throws -> Result {
            guard let result else { throw Failure() }
            return result
        }

        static func check(_ result: Int32) throws {
            guard result > 0 else { throw Failure() }
        }

        /// Describes the last error of libcrypto on this thread.
        private init() {
            var text = [CChar](repeating: 0, count: 256)
            ERR_error_string_n(ERR_get_error(), &text, text.count)
            self.description = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }
}
