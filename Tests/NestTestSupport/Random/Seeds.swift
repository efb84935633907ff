import Foundation

/// The seeds of property tests. `NEST_SEED` runs one seed, `NEST_SEEDS=a..b` a range of seeds; `NEST_STEPS` sets the
/// number of steps.
package enum Seeds {
    private static let environment = ProcessInfo.processInfo.environment

    package static func range(_ usual: Range<UInt64>) -> Range<UInt64> {
        if let seed = self.environment["NEST_SEED"].flatMap({ UInt64($0) }) { return seed..<seed + 1 }
        let ends = self.environment["NEST_SEEDS"]?.split(separator: ".").compactMap { UInt64($0) } ?? []
        return ends.count == 2 && ends[0] < ends[1] ? ends[0]..<ends[1] : usual
    }

    package static func steps(_ usual: Int) -> Int { self.environment["NEST_STEPS"].flatMap { Int($0) } ?? usual }

    /// Whether the default seeds run, for which totals can be checked.
    package static var isUsual: Bool { self.environment["NEST_SEED"] == nil && self.environment["NEST_SEEDS"] == nil }
}
