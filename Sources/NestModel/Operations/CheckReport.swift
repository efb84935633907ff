/// What a check of a whole store has found.
public struct CheckReport: Equatable, Sendable {
    /// The state that was checked.
    public var revision: Revision
    public var objectCount: Int
    /// What is wrong, in words; at most `Limits.checkProblemsMax` of it.
    public var problems: [String]
    /// How much is wrong in all, as far as it was counted.
    public var problemCount: Int

    public init(revision: Revision, objectCount: Int, problems: [String], problemCount: Int) {
        self.revision = revision
        self.objectCount = objectCount
        self.problems = problems
        self.problemCount = problemCount
    }
}

/// One of the steps of a check.
public struct CheckStep: Equatable, Sendable {
    /// What is being looked at, for people.
    public var name: String
    /// From 1.
    public var number: Int
    public var count: Int

    public init(name: String, number: Int, count: Int) {
        self.name = name
        self.number = number
        self.count = count
    }
}
