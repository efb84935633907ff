import NestModel

/// The totals of several runs.
package struct MeaningTotal: CustomStringConvertible {
    package private(set) var requests = 0
    package private(set) var replies = 0
    package private(set) var unreadable = 0
    package private(set) var diffs = 0
    package private(set) var compared = 0
    package private(set) var refusals: [ErrorCode: Int] = [:]

    package init() {}

    package mutating func add(_ run: MeaningRun) {
        self.requests += run.requests
        self.replies += run.replies
        self.unreadable += run.unreadable
        self.diffs += run.diffs
        self.compared += run.compared
        self.refusals.merge(run.refusals) { $0 + $1 }
    }

    package var description: String {
        let codes = self.refusals.sorted { $0.value > $1.value }.map { "\($0.key) \($0.value)" }
        return
            "\(self.requests) requests, \(self.unreadable) unreadable, \(self.replies) replies, \(self.diffs) diffs, "
            + "\(self.compared) states compared; \(codes.joined(separator: ", "))"
    }
}
