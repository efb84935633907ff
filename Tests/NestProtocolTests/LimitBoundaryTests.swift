import Foundation
import NIOCore
import NestModel
import NestTestSupport
import NestProtocol
import Testing
import NestFraming

/// Every limit has a test at its boundary or a reason why it has none.
@Suite struct LimitBoundaryTests {
    /// The maximum and one less are accepted. One more is refused with the limit's error code.
    @Test(arguments: LimitBoundary.all)
    func limitsAcceptTheMaximumAndRefuseOneMore(_ boundary: LimitBoundary) throws {
        let limit = Int(try #require(Limits.all.first { $0.name == boundary.name }).value)
        #expect(try boundary.refusal(limit - 1) == nil)
        #expect(try boundary.refusal(limit) == nil)
        #expect(try boundary.refusal(limit + 1) == boundary.code)
    }

    /// An error with more faults than the limit is sent with as many as the limit allows.
    @Test func errorsListAtMostAHundredFaults() throws {
        for count in [-1, 0, 1].map({ Limits.faultsPerErrorMax + $0 }) {
            let fault = ValidationFault(entity: EntityNumber(1), reason: .required, message: "x")
            let error = NestError(.validationFailed, "x", faults: Array(repeating: fault, count: count))
            let read = try ErrorMessage(body: ByteBuffer(bytes: ErrorMessage(error).body))
            #expect(read.error.faults.count == min(count, Limits.faultsPerErrorMax))
        }
    }

    /// Every limit that a client can reach has a test in `LimitBoundary` or `LimitCoverage`, or a reason in
    /// `LimitCoverage`.
    @Test func everyLimitHasATestOrAReason() throws {
        let functions = try Self.testFunctions()
        let here = Set(LimitBoundary.all.map(\.name))
        for limit in Limits.all {
            let elsewhere = LimitCoverage.tests[limit.name] ?? []
            for function in elsewhere {
                #expect(functions.contains(function), "\(limit.name): no test is named \(function)")
            }
            let isExplained = LimitCoverage.reasons[limit.name] != nil
            let isTested = here.contains(limit.name) || !elsewhere.isEmpty
            #expect(isTested != isExplained || limit.beyond == .inner, "\(limit.name) needs a test or a reason")
        }
        let names = Set(Limits.all.map(\.name))
        #expect(names.isSuperset(of: LimitCoverage.tests.keys) && names.isSuperset(of: LimitCoverage.reasons.keys))
    }

    /// A documented limit that the code does not read would have no effect.
    @Test func theCodeReadsEveryLimit() throws {
        let sources = try Repository.sources(under: "Sources").filter { !$0.path.contains("/Limits/") }
        let text = sources.map(\.text).joined(separator: "\n")
        for limit in Limits.all { #expect(text.contains("Limits.\(limit.name)"), "\(limit.name)") }
    }

    private static func testFunctions() throws -> Set<String> {
        let sources = try Repository.sources(under: "Tests")
        return Set(sources.flatMap { $0.text.matches(of: /func (\w+)\(/).map { String($0.1) } })
    }
}
