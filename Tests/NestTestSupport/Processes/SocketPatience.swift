#if canImport(Glibc)
import Glibc
#endif

/// Limits blocking reads and writes of a socket to `testPatience`.
package func limitWaits(onSocket descriptor: Int32) {
    var patience = timeval(tv_sec: Int(Duration.testPatience.components.seconds), tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
        setsockopt(descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
    }
}
