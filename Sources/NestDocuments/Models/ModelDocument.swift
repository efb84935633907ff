import NestModel

/// What a model file holds.
public struct ModelDocument: Hashable, Sendable {
    public var draft: ModelDraft
    /// What the file says that nest does not do, in sentences that name where it stands.
    public var warnings: [String]

    public init(draft: ModelDraft, warnings: [String] = []) {
        self.draft = draft
        self.warnings = warnings
    }
}
