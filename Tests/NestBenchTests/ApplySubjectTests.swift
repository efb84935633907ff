import BenchEngine
import NestModel
import NestTestSupport
import Testing

@testable import nestbench

@Suite struct ApplySubjectTests {
    /// The measurement of applying is one of the same commits: the follower stands where the leader stands.
    @Test func theFollowerAppliesWhatTheLeaderExecutes() throws {
        let directory = TemporaryDirectory()
        let subject = try ApplySubject(directory: directory.path)
        var reads = 0.0
        let insert = Load.insert(under: ObjectID(1))
        let times = try subject.time([[Mutation]](repeating: [insert, insert], count: 3)) {
            reads += 1
            return reads
        }
        #expect(times.executing == 1 && times.applying == 1)
        try subject.close()
    }
}
