import NestModel

extension ConnectFault {
    /// The error that a caller gets: the code and the words of each reason. No other code has them.
    var error: NestError {
        NestError(self.code, self.message, connectFault: self)
    }

    private var code: ErrorCode {
        switch self.reason {
        case .unknownHost, .refused, .timedOut, .unreachable, .silent, .closedEarly, .plainServer, .tlsServer,
            .tlsVersion, .tlsFailure:
            .unreachable
        case .notNest: .protocolViolation
        case .clientCertificateRequired, .clientCertificateRefused: .unauthenticated
        case .anotherName, .expired, .notYetValid, .unknownAuthority, .tokenInClear, .missingFile, .unreadableFile,
            .noCertificate, .noPrivateKey, .wrongPrivateKey:
            .untrusted
        }
    }

    private var message: String {
        let address = ServerAddress(host: self.host, port: self.port).description
        switch self.reason {
        case .unknownHost: return "cannot connect to \(address): unknown host '\(self.host)'"
        case .refused: return "cannot connect to \(address): nothing listens there; is nestd running?"
        case .timedOut: return "cannot connect to \(address): no answer in time"
        case .unreachable(let reason): return "cannot connect to \(address): \(reason)"
        case .notNest: return "what answers at \(address) is not a nest server"
        case .silent:
            return "\(address) accepts connections but does not answer in time: it may not be a nest server"
        case .closedEarly: return "\(address) closed the connection without an answer: it may not be a nest server"
        case .plainServer: return "the server at \(address) does not speak TLS"
        case .tlsServer: return "the server at \(address) speaks only TLS, and this client did not use it"
        case .tlsVersion: return "the server at \(address) does not offer TLS 1.3"
        case .anotherName(let expected, let names):
            guard !names.isEmpty else {
                return "the certificate of \(address) contains no name, so it is not for '\(expected)'"
            }
            return "the certificate of \(address) is for another name: it is for \(Self.listed(names)), "
                + "not for '\(expected)'"
        case .expired(let time): return "the certificate of \(address) expired at \(Self.date(time))"
        case .notYetValid(let time): return "the certificate of \(address) is not valid before \(Self.date(time))"
        case .unknownAuthority(isSelfSigned: true):
            return "the certificate of \(address) is self-signed, and not one that this client trusts"
        case .unknownAuthority(isSelfSigned: false):
            return "the certificate of \(address) is not signed by an authority that this client trusts"
        case .clientCertificateRequired: return "the server at \(address) requires a certificate of the client"
        case .clientCertificateRefused: return "the server at \(address) does not accept the client's certificate"
        case .tlsFailure(let reason): return "TLS with \(address) failed: \(reason)"
        case .tokenInClear: return "the token would be sent unencrypted to \(self.host)"
        case .missingFile(let path): return "there is no file \(path)"
        case .unreadableFile(let path, let reason): return "cannot read \(path): \(reason)"
        case .noCertificate(let path): return "\(path) contains no certificate in PEM"
        case .noPrivateKey(let path): return "\(path) contains no private key in PEM"
        case .wrongPrivateKey(let path): return "the key in \(path) does not belong to the client's certificate"
        }
    }

    private static func date(_ microseconds: Int64) -> String { DateText.text(microseconds: microseconds) }

    /// A certificate may have any number of names.
    private static let namesShownMax = 10

    private static func listed(_ names: [String]) -> String {
        let shown = names.prefix(Self.namesShownMax).joined(separator: ", ")
        return names.count > Self.namesShownMax ? "\(shown) and \(names.count - Self.namesShownMax) more" : shown
    }
}
