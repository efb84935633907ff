import NestStore

/// The reason why a server did not start, or stopped.
package enum ServerError: Error, Sendable, CustomStringConvertible {
    /// The store cannot be served.
    case store(StoreError)
    /// `option`: the one that specifies the port.
    case addressInUse(host: String, port: Int, option: String)
    case cannotListen(host: String, port: Int, reason: String)
    /// The system closed the socket on which the server listened.
    case listenerLost(host: String, port: Int)
    /// The directory of the web port's files cannot be read.
    case webRoot(String, reason: String)
    /// The store failed while the server ran, so that the server may acknowledge nothing more.
    case engine(StoreError)
    /// The log of the cluster cannot be used.
    case log(LogFailure)
    /// The last checkpoint failed. Acknowledged writes are in the write-ahead log, which the next start reads.
    case closing(StoreError)

    package var description: String {
        switch self {
        case .store(let error):
            error.description
        case .addressInUse(let host, let port, let option):
            "port \(port) of \(host) is in use: stop the program that listens there, or specify another \(option)"
        case .webRoot(let path, let reason):
            "cannot read the directory \(path) of --web-root: \(reason)"
        case .cannotListen(let host, let port, let reason):
            "cannot listen on \(host), port \(port): \(reason)"
        case .listenerLost(let host, let port):
            "stopped, because the system closed the listening socket of \(host), port \(port); accept.failed in the log "
                + "says why"
        case .engine(let error):
            "stopped, because the store failed: \(error)"
        case .log(let failure):
            failure.description
        case .closing(let error):
            "the store could not be closed (\(error)); acknowledged writes are kept, and the next start reads them"
        }
    }
}
