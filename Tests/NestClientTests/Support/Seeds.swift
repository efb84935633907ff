// Only this file imports Foundation, which has an IndexPath too.
import Foundation

/// `NEST_SEED` runs one seed, otherwise the usual ones run.
enum Seeds {
    static func range(_ usual: Range<UInt64>) -> Range<UInt64> {
        guard let seed = ProcessInfo.processInfo.environment["NEST_SEED"].flatMap({ UInt64($0) }) else { return usual }
        return seed..<seed + 1
    }
}
