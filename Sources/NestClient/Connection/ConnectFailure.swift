import NIOCore
import NIOPosix
import NestModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Finds the reason why a connection could not be made.
enum ConnectFailure {
    static func nestError(_ error: any Error, _ configuration: ClientConfiguration) -> NestError {
        if let error = error as? NestError { return error }
        return configuration.fault(self.reason(error))
    }

    private static func reason(_ error: any Error) -> ConnectFault.Reason {
        if case ChannelError.connectTimeout = error { return .timedOut }
        guard let failure = error as? NIOConnectionError else { return .unreachable("\(error)") }
        if failure.dnsAError != nil, failure.connectionErrors.isEmpty { return .unknownHost }
        guard let first = failure.connectionErrors.first?.error else { return .unreachable("no address answers") }
        if case ChannelError.connectTimeout = first { return .timedOut }
        guard let io = first as? IOError else { return .unreachable("\(first)") }
        switch io.errnoCode {
        case ECONNREFUSED: return .refused
        case ETIMEDOUT: return .timedOut
        default: return .unreachable(String(cString: strerror(io.errnoCode)))
        }
    }
}

extension ClientConfiguration {
    /// The error for a reason why there is no connection to this server.
    func fault(_ reason: ConnectFault.Reason) -> NestError {
        ConnectFault(host: self.host, port: self.port, reason).error
    }
}
