import Glibc
import PeerWires
import NestProtocol

/// grpc-swift-2 with an echo service. It stores nothing.
struct GRPCPeer: Peer {
    static let id = "grpc"
    /// The version that bench/Peers/gRPC requires.
    let name = "gRPC-swift 2.4.3"
    private let program: String

    /// `program`: the executable that the package in bench/Peers/gRPC builds.
    init?(program: String) {
        guard access(program, X_OK) == 0 else { return nil }
        self.program = program
    }

    func start(_ site: ServerSite, connections: Int) throws -> ServerProcess {
        try ServerProcess([self.program, "\(site.port)"], log: "\(site.directory)/log")
    }

    func requesting(_ kind: RequestKind) -> RequestWork? {
        let message = Array(Load.title.utf8)
        return RequestWork(
            requester: { GRPCRequester(path: "/bench.Echo/Unary") { _ in message } },
            wanted: "10, 50",
            terms: Terms(less: "stores nothing", note: "unary echo of the same text")
        )
    }
}
