/// The result of a check of a whole store.
public struct CheckReport: Equatable, Sendable {
    /// The revision that was checked.
    public var revision: Revision
    public var objectCount: Int
    /// The problems, in words; at most `Limits.checkProblemsMax`.
    public var problems: [String]
    /// The number of problems, as far as they were counted.
    public var problemCount: Int

    public init(revision: Revision, objectCount: Int, problems: [String], problemCount: Int) {
        self.revision = revision
        self.objectCount = objectCount
        self.problems = problems
        self.problemCount = problemCount
    }
}

/// One step of a check.
public struct CheckStep: Equatable, Sendable {
    /// What the step checks, for people.
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
