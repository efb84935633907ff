import NestModel

/// What adopting a store found and did.
package struct AdoptReport: Sendable {
    /// Objects or links with the same peculiarity.
    package struct Finding: Sendable, Equatable {
        package let what: String
        package let reason: String
        package internal(set) var count: Int64
        /// `Z_PK` of the first of them.
        package internal(set) var first: [Int64]

        /// `Person.name is required, but has no value`.
        package var text: String { "\(self.what) \(self.reason)" }
    }

    package struct Entity: Sendable, Equatable {
        package let name: String
        package let count: Int64
        /// An object's id is its `Z_PK` plus this.
        package let idOffset: Int64
    }

    package struct Links: Sendable, Equatable {
        package let name: String
        package let count: Int64
    }

    /// The number of objects that a finding names.
    static let firstMax = 10

    package let version: String
    package let versionReason: String
    package internal(set) var entities: [Entity] = []
    package internal(set) var links: [Links] = []
    /// References that became none.
    package internal(set) var dangling: [Finding] = []
    /// Values that were left out, as the options allow.
    package internal(set) var leftOut: [Finding] = []
    /// What forbids the adoption.
    package internal(set) var refused: [Finding] = []
    package let unreadColumns: [String]
    package internal(set) var unreadTables: [Links]

    package var objectCount: Int64 { self.entities.reduce(0) { $0 + $1.count } }
}

/// Findings by what they are about. Their number is bounded by that of properties times that of kinds of faults.
struct AdoptFindings {
    private var found: [String: AdoptReport.Finding] = [:]
    private var order: [String] = []

    var list: [AdoptReport.Finding] { self.order.compactMap { self.found[$0] } }

    mutating func add(_ what: String, _ reason: String, _ key: Int64) {
        let name = "\(what) \(reason)"
        if self.found[name] == nil {
            self.found[name] = .init(what: what, reason: reason, count: 0, first: [])
            self.order.append(name)
        }
        self.found[name]!.count += 1
        if self.found[name]!.first.count < AdoptReport.firstMax { self.found[name]!.first.append(key) }
    }

    mutating func add(_ others: AdoptFindings) {
        for other in others.list {
            guard self.found.updateValue(other, forKey: other.text) == nil else { continue }
            self.order.append(other.text)
        }
    }
}

/// What the user allows.
package struct AdoptOptions: Sendable {
    /// Leave out values that are larger than nest's maximum.
    package var skipsLarge = false
    /// Leave out values that nest or the model refuses.
    package var skipsInvalid = false
    /// Only report.
    package var isDryRun = false
    /// The version of the model; `nil`: the one that fits.
    package var version: String?

    package init() {}
}
