public import Logging
import NestModel
import NestProtocol

/// The settings of a client.
public struct ClientConfiguration: Sendable {
    /// The addresses of servers with the same store, such as the nodes of a cluster. The client begins at one of them
    /// at random, and stays there. When the connection is lost, or the server sends its clients away, it goes to
    /// another one at once. It pauses only after it has tried all of them. `tls` decides about TLS, for all.
    public var endpoints: [ServerAddress]
    /// The host of the first endpoint.
    public var host: String {
        get { self.endpoints.first?.host ?? ServerAddress.defaultHost }
        set { self.endpoints = [ServerAddress(host: newValue, port: self.port)] + self.endpoints.dropFirst() }
    }
    /// The port of the first endpoint.
    public var port: Int {
        get { self.endpoints.first?.port ?? ServerAddress.defaultPort }
        set { self.endpoints = [ServerAddress(host: self.host, port: newValue)] + self.endpoints.dropFirst() }
    }
    /// The name of the store that the servers must have; `nil`: any. A server has one store: in a cluster, the one that
    /// `nestc cluster status` names, and a single server's is `default`.
    public var store: String?
    /// The name of this client in the server's log; at most 256 bytes.
    public var clientName: String
    /// The owner of the undo stack: by default the same in the next run of the program, which can then undo the work of
    /// this run. `.fresh` writes nothing and begins anew.
    public var session: ClientSession
    /// Where the client says why it cannot keep its session. It logs no secrets.
    public var logger = Logger(label: "nest.client")
    /// The directory of the sessions of all programs; `nil`: the user's. For tests.
    package var sessionDirectory: String?
    /// `nil`: the connection is not encrypted. Without `serverName`, each server's certificate must have the host of
    /// its own address.
    public var tls: ClientTLS?
    /// The token that authenticates this client to a server that requires one. It is sent only over TLS or to this
    /// machine, unless `sendsTokenInClear` is set.
    public var token: AccessToken?
    /// Whether to send the token even where others can read it.
    public var sendsTokenInClear = false
    /// The user of this client, for a server that requires no token: others see the label as a claim, which the server
    /// has not checked. At most 256 bytes; empty: none. With a token, the token's own label applies.
    public var user = ""
    /// Whether to ask who writes: `ResultsDiff.authors`.
    public var followsAuthors = false
    /// Where the client keeps the last states of lists and outlines, and the undo state, to begin with them the next
    /// time; `nil`: nowhere.
    public var cache: (any ResultsCache)?
    /// The time limit for one attempt to connect to one address, until the server has answered the handshake. If DNS
    /// has several addresses for a host, the attempt tries them all, a quarter of a second apart.
    public var connectTimeout: Duration
    /// The time limit for one request, from the call to its answer. It includes reconnecting and sending again.
    public var requestTimeout: Duration
    /// The maximum pause between attempts to reconnect. Pauses double up to this value.
    public var reconnectPauseMax = Duration.milliseconds(Limits.reconnectMillisecondsMax)
    /// Whether large answers and sub-trees may be compressed, in both directions. This saves bytes and costs some CPU
    /// time on both sides.
    public var usesCompression = true
    /// Whether the client goes to the leader of a cluster when another node refuses a request, with the same demands on
    /// TLS. Otherwise such a request fails with `notLeader`.
    public var followsLeader = true

    public init(
        host: String = "127.0.0.1",
        port: Int = 7000,
        clientName: String = "nest client",
        session: ClientSession = .kept,
        token: AccessToken? = nil,
        connectTimeout: Duration = .seconds(5),
        requestTimeout: Duration = .seconds(30)
    ) {
        self.endpoints = [ServerAddress(host: host, port: port)]
        self.clientName = clientName
        self.session = session
        self.token = token
        self.connectTimeout = connectTimeout
        self.requestTimeout = requestTimeout
    }

    /// The settings for a server at an address. `nests://` selects TLS with the system's authorities.
    public init(
        _ address: ServerAddress,
        clientName: String = "nest client",
        session: ClientSession = .kept,
        token: AccessToken? = nil
    ) {
        self.init(ServerAddresses(address), clientName: clientName, session: session, token: token)
    }

    /// The settings for the servers of a list. `nests://` selects TLS with the system's authorities.
    public init(
        _ servers: ServerAddresses,
        clientName: String = "nest client",
        session: ClientSession = .kept,
        token: AccessToken? = nil
    ) {
        self.init(clientName: clientName, session: session, token: token)
        self.endpoints = servers.all
        self.store = servers.store
        self.tls = servers.usesTLS ? ClientTLS() : nil
    }

    /// Whether only this machine can read data sent to an address. `address` has the system's form.
    package static func staysOnThisMachine(_ address: String) -> Bool {
        address == "::1" || address.hasPrefix("127.") || address.hasPrefix("::ffff:127.")
    }
}
