/// Why a client has no connection to a server. `NestError.connectFault` has it, so that a program can react to the
/// reason; the error's message states it for people.
public struct ConnectFault: Hashable, Sendable {
    public enum Reason: Hashable, Sendable {
        // MARK: No answer

        case unknownHost
        /// Nothing listens on the port.
        case refused
        /// The host did not answer in time.
        case timedOut
        /// The system has no way to the host; its own words.
        case unreachable(String)

        // MARK: Another answer

        /// What answers does not speak nest's protocol.
        case notNest
        /// The connection was accepted, and nothing followed in time.
        case silent
        /// The connection was closed before the answer to the handshake.
        case closedEarly

        // MARK: TLS

        /// The client uses TLS, and the server does not.
        case plainServer
        /// The server uses TLS, and the client does not.
        case tlsServer
        /// The server offers no TLS 1.3.
        case tlsVersion
        /// The certificate is for these names and addresses, not for the expected one.
        case anotherName(expected: String, names: [String])
        /// The certificate has expired. Microseconds since 1970-01-01 UTC.
        case expired(Int64)
        /// The certificate is not valid yet. Microseconds since 1970-01-01 UTC.
        case notYetValid(Int64)
        /// No authority that the client trusts has signed the certificate.
        case unknownAuthority(isSelfSigned: Bool)
        /// The server requires a certificate of the client.
        case clientCertificateRequired
        /// The server does not accept the client's certificate.
        case clientCertificateRefused
        /// Another failure of TLS, in the words of the TLS library.
        case tlsFailure(String)
        /// A token would be sent where others can read it.
        case tokenInClear

        // MARK: The client's files

        case missingFile(String)
        /// A file that cannot be read, and the system's reason.
        case unreadableFile(String, String)
        case noCertificate(inFile: String)
        case noPrivateKey(inFile: String)
        /// The client's certificate and key do not belong together.
        case wrongPrivateKey(inFile: String)
    }

    public var host: String
    public var port: Int
    public var reason: Reason

    public init(host: String, port: Int, _ reason: Reason) {
        self.host = host
        self.port = port
        self.reason = reason
    }
}
