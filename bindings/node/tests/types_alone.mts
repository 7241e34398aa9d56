// The types of the package, checked as they are.
export * from 'tenon-llm'
export { default } from 'tenon-llm'
