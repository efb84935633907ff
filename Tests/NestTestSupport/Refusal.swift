import NestModel

/// Returns the `NestError` that `body` throws, or `nil`.
package func refusal(_ body: () async throws -> Void) async -> NestError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? NestError
    }
}
