import NestModel

/// The error that `body` throws.
package func refusal(_ body: () async throws -> Void) async -> NestError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? NestError
    }
}
