#if canImport(Glibc)
import Glibc
#endif

/// Lets what blocks on a socket fail after the tests' patience: what never comes, and a peer that does not read.
package func limitWaits(onSocket descriptor: Int32) {
    var patience = timeval(tv_sec: Int(Duration.testPatience.components.seconds), tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
        setsockopt(descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
    }
}
