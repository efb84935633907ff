import ArgumentParser
import NestServer

/// Who may connect, and how it is kept from others what they say.
struct SecurityOptions: ParsableArguments {
    /// When a client needs a token.
    enum Authentication: String, ExpressibleByArgument, CaseIterable {
        case auto, required, none
    }

    @Option(
        help: """
            When clients need a token: required, none, or auto: when the store has one, and always on an address that others can \
            reach.
            """
    )
    var auth = Authentication.auto

    @Option(help: ArgumentHelp("Encrypt: the server's certificate and its chain, in PEM.", valueName: "file"))
    var tlsCert: String?

    @Option(help: ArgumentHelp("The key of --tls-cert, in PEM.", valueName: "file"))
    var tlsKey: String?

    @Option(help: ArgumentHelp("Let in only clients with a certificate of this authority, in PEM.", valueName: "file"))
    var tlsClientCa: String?

    @Flag(help: "Listen on an address that others can reach though they can read what is sent, or do everything.")
    var insecure = false

    func validate() throws {
        guard (self.tlsCert == nil) == (self.tlsKey == nil) else {
            throw ValidationError("--tls-cert and --tls-key belong together")
        }
        guard self.tlsClientCa == nil || self.tlsCert != nil else {
            throw ValidationError("--tls-client-ca needs --tls-cert and --tls-key")
        }
    }

    /// Clients prove who they are by certificates.
    private var hasClientCertificates: Bool { self.tlsClientCa != nil }

    /// Refuses what would open the store to the world by accident.
    func check(host: String) throws {
        guard !self.insecure, !Loopback.contains(host) else { return }
        let wants: String
        if self.tlsCert == nil {
            wants = "nothing would be encrypted: add --tls-cert and --tls-key"
        } else if self.auth == .none, !self.hasClientCertificates {
            wants = "everybody could do everything: leave --auth none out, or add --tls-client-ca"
        } else {
            return
        }
        throw Nestd.failure(
            78,
            "refused: \(host) can be reached by others, and \(wants). Or use --host 127.0.0.1, or add --insecure if that is what you want"
        )
    }

    func policy(host: String) -> AccessTable.Policy {
        switch self.auth {
        case .required: .required
        case .none: .open
        case .auto: self.insecure || self.hasClientCertificates || Loopback.contains(host) ? .ifTokens : .required
        }
    }

    func serverTLS() throws -> ServerTLS? {
        guard let certificate = self.tlsCert, let key = self.tlsKey else { return nil }
        do throws(ServerTLS.Failure) {
            return try ServerTLS(
                ServerTLS.Files(certificate: certificate, key: key, clientAuthority: self.tlsClientCa)
            )
        } catch {
            throw Nestd.failure(78, "\(error)")
        }
    }
}
