import Logging
import NIOCore
import NIOPosix
import NestProtocol
import NestEngine
import NestModel
import NestStore

/// The objects that all connections share. It is immutable, and each part guards its own state.
struct ServerContext: Sendable {
    let configuration: ServerConfiguration
    let engine: EngineThread
    /// Threads that read sub-trees and backups from the store, at its speed.
    let exports: NIOThreadPool
    /// Threads for the short reads and writes of spool files.
    let files: NIOThreadPool
    let spool: SpoolBudget
    let memory: ConnectionMemory
    let answers: AnswerMemory
    let access: AccessTable
    let tls: ServerTLS?
    let metrics: ServerMetrics
    let limiter: ConnectionLimiter
    let clients: ClientDirectory
    /// `nil`: a single node.
    let replica: ReplicaSession?
    /// `nil`: a single node.
    let peers: PeerServices?
    let logger: Logger
}
