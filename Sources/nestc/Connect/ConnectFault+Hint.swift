import NestClient
import NestModel

extension ConnectFault {
    /// What a user of nestc can do about the fault. Begins with a line end if there is anything.
    var hint: String {
        guard let advice else { return "" }
        return "\n\(advice)"
    }

    private var advice: String? {
        switch self.reason {
        case .unknownHost: return "Check the host in --server, NEST_SERVER or the context."
        case .refused:
            return Self.isThisMachine(self.host)
                ? "Start it with 'nestd \(self.listensByDefault ? "" : "--host \(self.host) ")--port \(self.port)', or specify its address with --server HOST:PORT."
                : "If nestd listens on another port, specify its address with --server HOST:PORT."
        case .timedOut, .unreachable:
            return "Check the address, the network and firewalls, or specify another address with --server HOST:PORT."
        case .notNest, .silent: return "Specify the address of a nestd with --server HOST:PORT."
        case .closedEarly:
            return "Specify the address of a nestd with --server HOST:PORT. It may also have too many clients."
        case .plainServer:
            return "Leave --tls and the other options of TLS out, or remove them from the context: "
                + "'nestc help context'."
        case .tlsServer:
            return "Use --tls, or --tls-ca FILE with the authority of its certificate: see 'nestc help context'."
        case .tlsVersion: return "nest uses no older version. A nestd always offers TLS 1.3: is this address right?"
        case .anotherName(_, let names):
            // An address is no name for --tls-server-name, and a pattern is none either.
            let name = names.first { $0.wholeMatch(of: /[A-Za-z0-9._-]*[A-Za-z][A-Za-z0-9._-]*/) != nil }
            return "If it is the right server, connect by such a name"
                + (name.map { ", or add --tls-server-name \($0)" } ?? "") + "."
        case .expired: return "The server needs a new certificate."
        case .notYetValid: return "Is the clock of this machine right?"
        case .unknownAuthority(isSelfSigned: true):
            return "If it is the right server, specify its certificate with --tls-ca FILE."
        case .unknownAuthority(isSelfSigned: false):
            return "If it is the right server, specify the authority's certificate with --tls-ca FILE."
        case .clientCertificateRequired: return "Specify your certificate and its key with --tls-cert and --tls-key."
        case .clientCertificateRefused:
            return "Specify a certificate that the server's --tls-client-ca has signed, with --tls-cert and --tls-key."
        case .tokenInClear: return "Use TLS (--tls), or --insecure to allow this."
        case .missingFile, .unreadableFile, .noCertificate, .noPrivateKey, .wrongPrivateKey, .tlsFailure: return nil
        }
    }

    /// The exit status, if it is not that of the error's code.
    var status: ExitStatus? {
        switch self.reason {
        case .missingFile, .unreadableFile, .noCertificate, .noPrivateKey, .wrongPrivateKey: .configuration
        default: nil
        }
    }

    /// Whether a nestd without `--host` listens on this host.
    private var listensByDefault: Bool { ["127.0.0.1", "localhost"].contains(self.host) }

    private static func isThisMachine(_ host: String) -> Bool {
        host == "localhost" || ClientConfiguration.staysOnThisMachine(host)
    }
}
