"""A local web application that shows runs while they train. It reads run directories, and nothing else."""
