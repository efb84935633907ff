import Glibc
import NIOCore
import NIOPosix
import NestModel
import NestStore
import NestProtocol

/// What all connections of the web port share.
package struct WebPort: Sendable {
    let gate: WebGate
    /// `nil`: no directory is served.
    let files: WebFiles?
    /// The page inside the program; `nil`: it is not served.
    let page: WebPage?
    /// Threads that open and read files.
    let threads: NIOThreadPool
    let limiter: ConnectionLimiter
    let timing: ServerConfiguration.Timing
    let controlFrames: TokenBucket.Rate
    /// Makes the connection behind a WebSocket. It takes over the slot, and must log in within the time that a
    /// handshake may take since the given moment.
    let makeClient: @Sendable (ConnectionLoop, ConnectionSlot, NIODeadline) -> any WebSocketClient

    package init(
        gate: WebGate,
        files: WebFiles?,
        page: WebPage?,
        threads: NIOThreadPool,
        limiter: ConnectionLimiter,
        timing: ServerConfiguration.Timing,
        controlFrames: TokenBucket.Rate,
        makeClient: @escaping @Sendable (ConnectionLoop, ConnectionSlot, NIODeadline) -> any WebSocketClient
    ) {
        self.gate = gate
        self.files = files
        self.page = page
        self.threads = threads
        self.limiter = limiter
        self.timing = timing
        self.controlFrames = controlFrames
        self.makeClient = makeClient
    }
}

extension WebPort {
    /// Reads the settings of the web port. Blocks.
    init(_ web: WebConfiguration, _ server: ServerContext) throws(ServerError) {
        var files: WebFiles?
        if let root = web.root {
            var hidden = server.tls?.files.secret ?? []
            if case .file(let path) = server.configuration.store.location { hidden.append(path) }
            files = WebFiles(root: root, hiding: hidden)
            guard files != nil else { throw .webRoot(root, reason: String(cString: strerror(errno))) }
        }
        self.init(
            gate: WebGate(web, isEncrypted: server.tls != nil),
            files: files,
            page: web.page,
            threads: server.files,
            limiter: server.limiter,
            timing: server.configuration.timing,
            controlFrames: server.configuration.controlFrames
        ) { loop, slot, since in
            ClientConnection(server: server, loop: loop, slot: slot, since: since)
        }
    }
}
